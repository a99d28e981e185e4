package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// process is the memory of this process at one moment, in bytes.
type process struct {
	rss     int64 // resident, as the kernel's status says
	touched int64 // resident in anonymous mappings
	mapped  int64 // writable anonymous mappings, touched or not
	heap    int64 // objects on the Go heap
}

// readProcess reads /proc and the statistics of the Go heap.
func readProcess() (process, error) {
	var p process
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return p, fmt.Errorf("the figures come from Linux's /proc: %w", err)
	}
	if p.rss, err = parseStatus(bytes.NewReader(status)); err != nil {
		return p, err
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return p, fmt.Errorf("the figures come from Linux's /proc: %w", err)
	}
	if p.touched, p.mapped, err = parseMappings(bytes.NewReader(maps)); err != nil {
		return p, err
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	p.heap = int64(stats.HeapAlloc)
	return p, nil
}

// parseStatus returns VmRSS.
func parseStatus(r io.Reader) (int64, error) {
	in := bufio.NewScanner(r)
	for in.Scan() {
		if v, ok := strings.CutPrefix(in.Text(), "VmRSS:"); ok {
			return kilobytes(v)
		}
	}
	return 0, fmt.Errorf("status has no line VmRSS")
}

// parseMappings adds up Rss and Size of the writable mappings that no file is
// behind: the Go heap and what a limiter has mapped for itself.
func parseMappings(r io.Reader) (touched, mapped int64, err error) {
	in := bufio.NewScanner(r)
	counts := false
	for in.Scan() {
		fields := strings.Fields(in.Text())
		if len(fields) >= 5 && strings.Contains(fields[0], "-") {
			// address perms offset device inode [name]
			counts = strings.HasPrefix(fields[1], "rw") && fields[4] == "0"
			continue
		}
		if !counts {
			continue
		}
		var total *int64
		v, ok := strings.CutPrefix(in.Text(), "Rss:")
		if total = &touched; !ok {
			v, ok = strings.CutPrefix(in.Text(), "Size:")
			total = &mapped
		}
		if !ok {
			continue
		}
		n, err := kilobytes(v)
		if err != nil {
			return 0, 0, err
		}
		*total += n
	}
	return touched, mapped, in.Err()
}

// kilobytes reads "  1234 kB" as bytes.
func kilobytes(s string) (int64, error) {
	n, ok := strings.CutSuffix(strings.TrimSpace(s), " kB")
	if !ok {
		return 0, fmt.Errorf("%q is not a number of kB", s)
	}
	v, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of kB", s)
	}
	return v << 10, nil
}
