//go:build linux

package faults

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/tickgate/tickgate/redisync/admitted"
)

// Load is what one node is asked for. The zero value is greedy on one key.
type Load struct {
	// PerSecond requests come at random times. 0: greedy, which asks for each key in
	// turn until it is denied, and then pauses.
	PerSecond float64

	// Keys is the number of keys, 0 as 1. Skew says how requests that come at random
	// are spread: 0 evenly, above 1 by Zipf's law with that exponent.
	Keys int
	Skew float64

	// On and Off alternate, by the machine's clock, so in step on all nodes.
	On, Off time.Duration

	// Pause of a greedy load after a denial. 0: 200 µs.
	Pause time.Duration
}

// catchUp is how far a random load may lag before it leaves out what it missed.
const catchUp = 100 * time.Millisecond

// off returns how long the load is still off at ns.
func (l Load) off(ns int64) time.Duration {
	if l.Off <= 0 {
		return 0
	}
	at := time.Duration(ns % int64(l.On+l.Off))
	if at < l.On {
		return 0
	}
	return l.On + l.Off - at
}

// Run asks until ctx ends, and logs every decision. take decides on one token of a
// key.
func (l Load) Run(ctx context.Context, seed uint64, log *Log, take func(key int) bool) {
	r := runner{load: l, ctx: ctx, log: log, take: take, watch: newStopwatch(), rnd: rand.New(rand.NewPCG(seed, 1))}
	r.load.Keys = max(l.Keys, 1)
	if l.Pause == 0 {
		r.load.Pause = 200 * time.Microsecond
	}
	if l.Skew > 1 {
		r.zipf = rand.NewZipf(r.rnd, l.Skew, 1, uint64(r.load.Keys-1))
	}
	if l.PerSecond > 0 {
		r.random()
	} else {
		r.greedy()
	}
}

type runner struct {
	load  Load
	ctx   context.Context
	log   *Log
	take  func(key int) bool
	watch stopwatch
	rnd   *rand.Rand
	zipf  *rand.Zipf
}

// ask makes one request.
func (r *runner) ask(key int) bool {
	before := r.watch.now()
	ok := r.take(key)
	after := r.watch.now()
	if !ok {
		r.log.Deny(after - before)
		return false
	}
	r.log.Admit(admitted.Event{Before: before, After: after, N: 1, Key: uint32(key)})
	return true
}

func (r *runner) greedy() {
	for r.ctx.Err() == nil {
		for key := range r.load.Keys {
			// A limit with a wide burst must not keep the load from noticing its end.
			for n := 0; r.load.off(r.watch.now()) == 0 && r.ask(key); n++ {
				if n%64 == 63 && r.ctx.Err() != nil {
					return
				}
			}
		}
		r.sleep(max(r.load.Pause, r.load.off(r.watch.now())))
	}
}

func (r *runner) random() {
	next := r.watch.now()
	for r.ctx.Err() == nil {
		next += int64(r.rnd.ExpFloat64() / r.load.PerSecond * 1e9)
		now := r.watch.now()
		if off := r.load.off(now); off > 0 {
			r.sleep(off)
			next = r.watch.now()
			continue
		}
		if wait := time.Duration(next - now); wait > 0 {
			r.sleep(wait)
		} else if wait < -catchUp {
			next = now
		}
		if r.ctx.Err() == nil {
			r.ask(r.key())
		}
	}
}

func (r *runner) key() int {
	if r.zipf != nil {
		return int(r.zipf.Uint64())
	}
	return r.rnd.IntN(r.load.Keys)
}

// sleep sleeps; only what is long is cut short by the end.
func (r *runner) sleep(d time.Duration) {
	if d < 20*time.Millisecond {
		time.Sleep(d)
		return
	}
	select {
	case <-time.After(d):
	case <-r.ctx.Done():
	}
}
