package correspond

import (
	"fmt"
	"slices"
	"strings"
)

// look is what the sums are kept by: a model, and code that was compared with it.
type look struct {
	model string
	code  code
}

// sum is the code as it was then.
type sum struct{ hash, sketch string }

// parseSums reads the file of sums.
func parseSums(text string) (map[look]sum, error) {
	sums := map[look]sum{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 5 {
			return nil, fmt.Errorf("%s: not a line of it: %s", sumsName, strings.TrimSpace(line))
		}
		sums[look{f[0], code{f[1], f[2]}}] = sum{f[3], f[4]}
	}
	return sums, nil
}

// formatSums is the file of sums, in the order of the alphabet.
func formatSums(sums map[look]sum) string {
	var all []string
	for l, s := range sums {
		all = append(all, fmt.Sprintf("%s %s %s %s\n", l.model, l.code, s.hash, s.sketch))
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

// most is how many lines of a change are shown.
const most = 4

// changes tells what became of code whose lines had a sketch: lines that are new, and
// after which lines some are gone.
func changes(before string, now []line) string {
	old := chunks(before)
	fresh := chunks(sketch(now))
	// common[i][j] is how many lines old[i:] and fresh[j:] have in common, in order.
	common := make([][]int, len(old)+1)
	for i := range common {
		common[i] = make([]int, len(fresh)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(fresh) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); old[i] == fresh[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var all []string
	for i, j := 0, 0; i < len(old) || j < len(fresh); {
		switch {
		case i < len(old) && j < len(fresh) && old[i] == fresh[j]:
			i, j = i+1, j+1
		case j < len(fresh) && (i == len(old) || common[i][j+1] >= common[i+1][j]):
			all = append(all, "new:  "+now[j].text)
			j++
		default:
			after := "its beginning"
			if j > 0 {
				after = now[j-1].text
			}
			all = append(all, "gone: a line after "+after)
			i++
		}
	}
	if len(all) == 0 {
		all = []string{"no line alone: what stands in one line, or in another order"}
	}
	if n := len(all); n > most {
		all = append(all[:most], fmt.Sprintf("and %d more", n-most))
	}
	return "\n\t" + strings.Join(all, "\n\t")
}

// chunks takes a sketch apart.
func chunks(sketch string) (each []string) {
	for c := range slices.Chunk([]byte(sketch), sketchSize) {
		each = append(each, string(c))
	}
	return each
}
