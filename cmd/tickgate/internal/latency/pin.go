package latency

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// checkCPU says why a thread cannot be pinned to a CPU.
func checkCPU(cpu int) error {
	may, err := cpus()
	if err != nil {
		return err
	}
	if !slices.Contains(may, cpu) {
		return fmt.Errorf("this process may not run there; choose of %s", ranges(may))
	}
	return nil
}

// ranges prints ascending numbers as in 0-3, 8.
func ranges(n []int) string {
	var parts []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		part := strconv.Itoa(n[i])
		if j > i {
			part += "-" + strconv.Itoa(n[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ", ")
}
