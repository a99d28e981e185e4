package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/tickgate/tickgate/bench/internal/load"
)

var heads = []string{"keys", "Gate.Allow", "+/-", "TakeBatch", "+/-", "Handle, many", "+/-", "Handle, one", "+/-", "bytes a key"}

// write prints one row for each size, ns a decision.
func write(w io.Writer, all []result, rounds int, md bool) error {
	rows := [][]string{heads}
	for _, r := range all {
		row := []string{load.Label(r.Keys)}
		for _, f := range []figure{r.Gate, r.Batch, r.Handles, r.Handle} {
			row = append(row, fmt.Sprintf("%.1f", f.Ns), fmt.Sprintf("%.0f%%", 100*f.Far))
		}
		rows = append(rows, append(row, fmt.Sprintf("%.1f", r.Bytes)))
	}
	fmt.Fprintf(w, "ns a decision, median of %d, and the farthest from it; keys of %d bytes at random, all allowed; one goroutine; %s %s/%s, %d processors%s\n\n",
		rounds, load.KeyLen, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), loadAverage())
	if md {
		fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(rows[0], " | "), strings.Repeat("--:|", len(heads)))
		for _, r := range rows[1:] {
			fmt.Fprintf(w, "| %s |\n", strings.Join(r, " | "))
		}
		return nil
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, r := range rows {
		fmt.Fprintln(tw, strings.Join(r, "\t")+"\t")
	}
	return tw.Flush()
}

// loadAverage says how busy the machine was, as the kernel counts it.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	one, _, _ := strings.Cut(string(text), " ")
	return ", load " + one
}
