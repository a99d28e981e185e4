package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"text/tabwriter"
	"time"
)

// bounds are how much more a server may hold after the requests than before.
type bounds struct {
	goroutines int
	heap, rss  int64 // bytes
}

// grown are the bounds of the command. A leak of one pointer in each of a million
// requests is 8 MB, and of a goroutine in each ten thousand is 100. The resident memory
// has more room, as it grows by what the runtime is about to give back.
var grown = bounds{goroutines: 8, heap: 4 << 20, rss: 24 << 20}

// growProcess looks for growth in a server in a process of its own, and prints what it
// saw.
func growProcess(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	c, err := start(ctx, o, "growth", stderr)
	if err != nil {
		return err
	}
	defer c.end()
	t, err := newTraffic(c.url, o.callers, o.clients)
	if err != nil {
		return err
	}
	defer t.close()
	fmt.Fprintf(stdout, "%s, GOMAXPROCS %d of %d; %d requests of %d callers over %d connections, after %d to warm up;\n"+
		"every query behind a limit of %d for each caller, one caller in ten with jobs behind a limit and\n"+
		"idempotency; requests on the same processors\n\n",
		runtime.Version(), runtime.GOMAXPROCS(0), runtime.NumCPU(), o.requests, o.callers, o.clients, o.warmup, quota)
	began := time.Now()
	before, after, err := grow(ctx, t, o.warmup, o.requests, func() error { return pause(ctx, resultTTL+time.Second) })
	if err != nil {
		return err
	}
	writeGrowth(stdout, before, after, grown)
	fmt.Fprintf(stdout, "\n%s in all; each answer was the one that its caller's quota demands, each job was done once\n",
		time.Since(began).Round(time.Second))
	return grown.check(before, after)
}

// grow makes warmup requests, looks at the server, makes more requests, and looks
// again. forget is called before each look: after it the store of jobs has nothing to
// remember.
func grow(ctx context.Context, t *traffic, warmup, requests int, forget func() error) (before, after state, err error) {
	for _, step := range []struct {
		requests int
		seen     *state
	}{{warmup, &before}, {requests, &after}} {
		if err := t.run(ctx, step.requests); err != nil {
			return before, after, err
		}
		if err := forget(); err != nil {
			return before, after, err
		}
		if *step.seen, err = t.state(); err != nil {
			return before, after, err
		}
	}
	return before, after, nil
}

// check reports everything that grew out of bounds.
func (b bounds) check(before, after state) error {
	var faults []error
	grew := func(what string, from, to, most int64) {
		if to-from > most {
			faults = append(faults, fmt.Errorf("%s grew from %d to %d, by more than %d", what, from, to, most))
		}
	}
	grew("goroutines", int64(before.Goroutines), int64(after.Goroutines), int64(b.goroutines))
	grew("heap bytes in use", before.Heap, after.Heap, b.heap)
	grew("resident bytes", before.RSS, after.RSS, b.rss)
	grew("results that should have been forgotten", 0, int64(after.Results), 0)
	grew("keys evicted though there was room", 0, int64(min(after.Evicted, math.MaxInt64)), 0)
	return errors.Join(faults...)
}

func writeGrowth(w io.Writer, before, after state, b bounds) {
	const mb = 1e6
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tbefore\tafter\tmay grow by\t")
	fmt.Fprintf(t, "goroutines\t%d\t%d\t%d\t\n", before.Goroutines, after.Goroutines, b.goroutines)
	fmt.Fprintf(t, "heap in use, MB\t%.2f\t%.2f\t%.2f\t\n", float64(before.Heap)/mb, float64(after.Heap)/mb, float64(b.heap)/mb)
	fmt.Fprintf(t, "resident, MB\t%.1f\t%.1f\t%.1f\t\n", float64(before.RSS)/mb, float64(after.RSS)/mb, float64(b.rss)/mb)
	fmt.Fprintf(t, "keys in the gate\t%d\t%d\t\t\n", before.Keys, after.Keys)
	fmt.Fprintf(t, "keys evicted\t%d\t%d\t0\t\n", before.Evicted, after.Evicted)
	fmt.Fprintf(t, "results kept\t%d\t%d\t0\t\n", before.Results, after.Results)
	_ = t.Flush()
}

// pause waits for a time, or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
