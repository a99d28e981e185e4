package main

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"
	"text/tabwriter"
	"time"
	"unsafe"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/bench/internal/load"
	"github.com/tickgate/tickgate/policy"
)

// Two goroutines on two processors show what a cache line costs that both write: the same
// calls, with the lines that they write shared or not.

// pair is what two goroutines do.
type pair struct {
	name  string
	alone bool // the second does nothing
	key   bool // they have one key; else each has its own
	line  bool // they count on one line; else each on its own
	first bool // one of them counts on the first line of the policy's, else neither does
	deny  bool
}

var pairs = []pair{
	{name: "alone", alone: true},
	{name: "own keys, own counters"},
	{name: "own keys, one counter line", line: true},
	{name: "own keys, one counts on the policy's first line", first: true},
	{name: "one key, own counters", key: true},
	{name: "one key, one counter line", key: true, line: true},
	{name: "alone, denied", alone: true, deny: true},
	{name: "one key, denied, own counters", key: true, deny: true},
	{name: "one key, denied, one counter line", key: true, line: true, deny: true},
}

// Samples are short, so that many fall between the interruptions of a busy machine. Those
// count in which both ran nearly all of the time at once.
const (
	pairCalls   = 1000
	pairOverlap = .9
	pairSamples = 100 // that count
	pairTime    = 20 * time.Second
)

// reportPairs measures all pairs. It needs two processors.
func reportPairs(w io.Writer) error {
	if runtime.GOMAXPROCS(0) < 2 {
		return errors.New("-pairs needs two processors")
	}
	fmt.Fprintf(w, "ns of Handle.Allow for each of two goroutines, median of %d samples in which both ran at once%s\n\n", pairSamples, loadAverage())
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "case\tns\t")
	for _, p := range pairs {
		ns, err := p.measure(pairSamples, pairTime)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintf(tw, "%s\t%.1f\t\n", p.name, ns)
	}
	return tw.Flush()
}

func (p pair) measure(samples int, most time.Duration) (float64, error) {
	l := load.Allow
	if p.deny {
		l = load.Deny
	}
	g, err := tickgate.New(tickgate.Config{MaxKeys: 4096, Policies: policy.Set{{
		Endpoint: endpoint, Limits: []policy.Limit{{Name: "rate", Tokens: l.Tokens, Per: l.Per, Burst: l.Burst}},
	}}})
	if err != nil {
		return 0, err
	}
	defer g.Close()
	var handles [2]tickgate.Handle
	for i := range handles {
		key := i
		if p.key {
			key = 0
		}
		if handles[i], err = g.Handle(load.Key(key), endpoint); err != nil {
			return 0, err
		}
		handles[i].Allow()
	}
	workers, done := p.workers()
	defer done()
	var ns []float64
	for until := time.Now().Add(most); len(ns) < samples; {
		if time.Now().After(until) {
			return 0, fmt.Errorf("two goroutines ran at once in %d samples within %v: the machine is too busy", len(ns), most)
		}
		var ready atomic.Int32
		var begun, ended [2]time.Time
		for i, w := range workers {
			w.do <- func() {
				h := handles[i]
				for ready.Add(1); ready.Load() < int32(len(workers)); { // both are on a processor
				}
				begun[i] = time.Now()
				for range pairCalls {
					h.Allow()
				}
				ended[i] = time.Now()
			}
		}
		for _, w := range workers {
			<-w.did
		}
		if p.alone {
			begun[1], ended[1] = begun[0], ended[0]
		}
		all := later(ended[0], ended[1]).Sub(earlier(begun[0], begun[1]))
		both := earlier(ended[0], ended[1]).Sub(later(begun[0], begun[1]))
		if float64(both) >= pairOverlap*float64(all) {
			ns = append(ns, float64(all.Nanoseconds())/pairCalls)
		}
	}
	slices.Sort(ns)
	return ns[len(ns)/2], nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// worker is a goroutine that does what it is given.
type worker struct {
	do   chan func()
	did  chan struct{}
	line uint32
}

// workers returns one or two goroutines whose stacks lie so that they count on the lines
// wanted. Among a thousand there are some, on up to a hundred processors.
func (p pair) workers() (chosen []*worker, done func()) {
	all := make([]*worker, 1024)
	for i := range all {
		w := &worker{do: make(chan func()), did: make(chan struct{})}
		all[i] = w
		go func() {
			for f := range w.do {
				f()
				w.did <- struct{}{}
			}
		}()
		w.do <- func() { w.line = counterLine() }
		<-w.did
	}
	done = func() {
		for _, w := range all {
			close(w.do)
		}
	}
	one := slices.IndexFunc(all, func(w *worker) bool { return (w.line == 0) == p.first })
	two := slices.IndexFunc(all, func(w *worker) bool {
		return w != all[one] && w.line != 0 && (w.line == all[one].line) == p.line
	})
	if p.alone {
		return all[one : one+1], done
	}
	return []*worker{all[one], all[two]}, done
}

// counterLine is the line of a policy's counters that the calling goroutine adds to, as
// package shard chooses it: by the address of the stack, of eight lines for each
// processor, at least 32.
//
//go:noinline
func counterLine() uint32 {
	var here byte
	lines := uint32(1) << bits.Len(uint(max(32, min(8*runtime.GOMAXPROCS(0), 1024))-1))
	return uint32(uintptr(unsafe.Pointer(&here))>>11) * 0x9E3779B1 >> 16 & (lines - 1)
}
