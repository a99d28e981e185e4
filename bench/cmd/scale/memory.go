package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// resident is the resident memory of this process, bytes.
func resident() (int64, error) { return field("/proc/self/status", "VmRSS:") }

// available is what the kernel says can be had without swapping, bytes.
func available() (int64, error) { return field("/proc/meminfo", "MemAvailable:") }

// needed is what measuring a number of keys takes at most, bytes: the gate, the requests
// and handles, and half of it again so that the machine keeps its breath.
func needed(keys int) int64 {
	gate := int64(keys) * 140
	requests := int64(min(mostStream, max(1<<17, keys))) * (2*24 + 40)
	handles := int64(min(mostHandles, keys))*256 + int64(keys)*8
	return (gate + requests + handles + 64<<20) * 3 / 2
}

// field reads a number of kB from a file of /proc.
func field(path, name string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("the figures come from Linux's /proc: %w", err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		if v, ok := strings.CutPrefix(in.Text(), name); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(v, "kB")), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %s %q is no number of kB", path, name, v)
			}
			return n << 10, nil
		}
	}
	return 0, fmt.Errorf("%s has no line %s", path, name)
}
