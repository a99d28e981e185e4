package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/tickgate/tickgate/bench/internal/load"
)

// writeTable prints one line per library.
func writeTable(w io.Writer, all []result) error {
	fmt.Fprintf(w, "%s %s/%s, GOMAXPROCS %d; %d keys of %d bytes; bytes a key; GC in ms, the least of %d (the median)\n\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), all[0].Keys, load.KeyLen, collections)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "library\tresident\tof mappings\tmapped\tGo heap\tGC empty\tGC full\tadded\tkeys kept\t")
	for _, r := range all {
		fmt.Fprintf(tw, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t%s\t%s\t%s\t%d\t\n", r.Lib, r.RSS, r.Touched, r.Mapped, r.Heap,
			r.GCEmpty, r.GCFull, r.GCFull.minus(r.GCEmpty), r.Kept)
	}
	return tw.Flush()
}

// writeJSON writes one object per library.
func writeJSON(w io.Writer, all []result) error {
	for _, r := range all {
		if err := json.NewEncoder(w).Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// writeBench writes one line per library as a benchmark's result, with the medians
// of the collections.
func writeBench(w io.Writer, all []result) error {
	for _, r := range all {
		_, err := fmt.Fprintf(w, "BenchmarkMemory/lib=%s/keys=%s 1 %.1f resident-B/key %.1f mapped-B/key %.1f heap-B/key %d gc-empty-ns %d gc-full-ns %d kept-keys\n",
			r.Lib, load.Label(r.Keys), r.RSS, r.Mapped, r.Heap, r.GCEmpty.Median, r.GCFull.Median, r.Kept)
		if err != nil {
			return err
		}
	}
	return nil
}

// String prints the least and the median in milliseconds.
func (t gcTime) String() string {
	return fmt.Sprintf("%.2f (%.2f)", ms(t.Least), ms(t.Median))
}

// minus returns the differences of both figures.
func (t gcTime) minus(u gcTime) gcTime {
	return gcTime{Median: t.Median - u.Median, Least: t.Least - u.Least}
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
