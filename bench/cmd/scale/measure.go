package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/bench/internal/load"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// result is what a gate of some size costs.
type result struct {
	Keys    int     `json:"keys"`
	Bytes   float64 `json:"bytes_per_key"` // growth of resident memory
	Gate    figure  `json:"gate"`          // Gate.Allow, keys at random
	Handles figure  `json:"handles"`       // Handle.Allow, handles of keys at random
	Handle  figure  `json:"handle"`        // Handle.Allow, always the same
	Batch   figure  `json:"batch"`         // TakeBatch, keys at random, for each key
}

// figure is the median of some samples, and the distance of the farthest as a part of it.
type figure struct {
	Ns   float64 `json:"ns"`
	Far  float64 `json:"far"`
	Runs int     `json:"runs"`
}

const (
	endpoint    = "order.new"
	batch       = 64
	mostStream  = 1 << 22 // requests: as many keys do not fit the caches of today
	mostHandles = 1 << 20
	sample      = 1 << 20 // calls in a sample
)

// measure fills a gate with keys, and takes the figures. Every call is allowed.
func measure(keys, rounds int) (result, error) {
	r := result{Keys: keys}
	before, err := resident()
	if err != nil {
		return r, err
	}
	l := load.Allow
	g, err := tickgate.New(tickgate.Config{MaxKeys: keys, Policies: policy.Set{{
		Endpoint: endpoint, Limits: []policy.Limit{{Name: "rate", Tokens: l.Tokens, Per: l.Per, Burst: l.Burst}},
	}}})
	if err != nil {
		return r, err
	}
	defer g.Close()
	for i := range keys {
		if !g.Allow(load.Key(i), endpoint) {
			return r, fmt.Errorf("key %d was denied", i)
		}
	}
	runtime.GC()
	debug.FreeOSMemory()
	after, err := resident()
	if err != nil {
		return r, err
	}
	r.Bytes = float64(after-before) / float64(keys)

	stream := requests(keys)
	handles, err := handlesOf(g, keys)
	if err != nil {
		return r, err
	}
	at, denied := 0, 0
	next := func(n int) int {
		at = (at + 1) % n
		return at
	}
	r.Gate = median(rounds, func() {
		for range sample {
			if !g.Allow(stream[next(len(stream))].APIKey, endpoint) {
				denied++
			}
		}
	})
	at = 0
	r.Handles = median(rounds, func() {
		for range sample {
			if !handles[next(len(handles))].Allow() {
				denied++
			}
		}
	})
	h := handles[0]
	r.Handle = median(rounds, func() {
		for range sample {
			if !h.Allow() {
				denied++
			}
		}
	})
	var out [batch]tickgate.Decision
	now := clock.Default()
	at = 0
	r.Batch = median(rounds, func() {
		for range sample / batch {
			if at+batch > len(stream) {
				at = 0
			}
			g.TakeBatch(now.Now(), stream[at:at+batch], out[:])
			at += batch
			for i := range out {
				if !out[i].Allowed {
					denied++
				}
			}
		}
	})
	if denied > 0 {
		err = fmt.Errorf("%d calls were denied", denied)
	}
	return r, err
}

// requests are for keys at random, each with its own copy of the key, in order of arrival.
func requests(keys int) []tickgate.Request {
	n := min(mostStream, max(1<<17, keys))
	random, text := rand.New(rand.NewPCG(1, 1)), make([]byte, 0, n*load.KeyLen)
	for range n {
		text = load.AppendKey(text, random.IntN(keys))
	}
	all, out := string(text), make([]tickgate.Request, n)
	for i := range out {
		out[i] = tickgate.Request{APIKey: all[i*load.KeyLen : (i+1)*load.KeyLen], Endpoint: endpoint, N: 1}
	}
	return out
}

// handlesOf are of different keys, in random order.
func handlesOf(g *tickgate.Gate, keys int) ([]tickgate.Handle, error) {
	n := min(mostHandles, keys)
	handles := make([]tickgate.Handle, n)
	for i, k := range rand.New(rand.NewPCG(1, 2)).Perm(keys)[:n] {
		var err error
		if handles[i], err = g.Handle(load.Key(k), endpoint); err != nil {
			return nil, err
		}
	}
	return handles, nil
}

// median times a sample, after one that is not counted.
func median(rounds int, sampled func()) figure {
	runtime.GC()
	sampled()
	ns := make([]float64, rounds)
	for i := range ns {
		start := time.Now()
		sampled()
		ns[i] = float64(time.Since(start).Nanoseconds()) / sample
	}
	slices.Sort(ns)
	m := ns[len(ns)/2]
	return figure{Ns: m, Far: max(m-ns[0], ns[len(ns)-1]-m) / m, Runs: rounds}
}
