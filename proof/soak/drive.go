package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// names returns the names of keys, which lie one after the other.
func names(n int) []string {
	all := make([]byte, 0, 12*n)
	at := make([]int, n+1)
	for i := range n {
		all = fmt.Appendf(all, "key-%d", i)
		at[i+1] = len(all)
	}
	text, names := string(all), make([]string, n)
	for i := range names {
		names[i] = text[at[i]:at[i+1]]
	}
	return names
}

// churn asks for keys at random, one by one and in batches.
func (w *world) churn(ctx context.Context, r *rand.Rand, names []string) {
	e := w.gate.Endpoint(churn)
	reqs := make([]tickgate.Request, 64)
	out := make([]tickgate.Decision, len(reqs))
	for ctx.Err() == nil {
		n := int64(0)
		for range 200 {
			name := names[r.IntN(len(names))]
			switch r.IntN(3) {
			case 0:
				w.gate.Allow(name, churn)
			case 1:
				e.Allow(name)
			default:
				if d := w.gate.Take(name, churn, 1); d.Reason == tickgate.Limited && d.RetryAfter <= 0 {
					w.add("%s was denied for %v", name, d.RetryAfter)
				}
			}
			n++
		}
		if w.gate.AllowN(names[r.IntN(len(names))], churn, 1000) {
			w.add("1000 tokens were admitted of a capacity of at most 8")
		}
		for i := range reqs {
			reqs[i] = tickgate.Request{APIKey: names[r.IntN(len(names))], Endpoint: churn, N: 1}
		}
		w.gate.TakeBatch(w.clock.Now(), reqs, out)
		w.counts[churn].Add(n + 1 + int64(len(reqs)))
		runtime.Gosched()
	}
}

// watched takes from the judged keys, of which a handle holds every other one.
func (w *world) watched(ctx context.Context, r *rand.Rand) {
	handles := make([]tickgate.Handle, len(w.judges))
	for i := range handles {
		if i%2 == 0 {
			handles[i] = w.handle(fmt.Sprint("watched-", i), watched)
			defer handles[i].Release()
		}
	}
	for ctx.Err() == nil {
		for range 50 {
			i, n := r.IntN(len(w.judges)), 1+r.Int64N(3)
			w.clock.calm.RLock()
			began := w.clock.Axis()
			var allowed bool
			if i%2 == 0 {
				allowed = handles[i].AllowAt(w.clock.Now(), n)
			} else {
				allowed = w.gate.AllowN(fmt.Sprint("watched-", i), watched, n)
			}
			if i%2 == 1 && w.clock.behind() {
				w.judges[i].forget() // keys may be dropped by force, which forgives them what they owe
			} else {
				w.judges[i].sees(began, w.clock.Axis(), n, allowed, &w.faults)
			}
			w.clock.calm.RUnlock()
			w.counts[watched].Add(1)
		}
		every(ctx, time.Millisecond)
	}
}

func (w *world) handle(apikey, endpoint string) tickgate.Handle {
	h, err := w.gate.Handle(apikey, endpoint)
	if err != nil {
		w.add("a handle of %s at %s: %v", apikey, endpoint, err)
	}
	return h
}

// waiting waits for tokens, and sometimes gives up.
func (w *world) waiting(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		i := r.IntN(len(w.waiters))
		h := w.handle(fmt.Sprint("waited-", i), waited)
		patient, cancel := context.WithTimeout(ctx, time.Duration(1+r.Int64N(300))*time.Millisecond)
		err := h.Wait(patient, 1)
		ended := w.clock.Axis()
		cancel()
		switch {
		case err == nil:
			w.waits.Add(1)
			w.waiters[i].lateBy(100*time.Millisecond + 2*time.Duration(w.late.Load()))
			w.waiters[i].sees(ended, ended, 1, true, &w.faults)
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
			w.gaveUp.Add(1)
			every(ctx, time.Millisecond)
		default:
			w.add("Wait: %v", err)
		}
		h.Release()
	}
}

// lateness finds out how late the machine's timers are.
func (w *world) lateness(ctx context.Context, _ *rand.Rand) {
	for began := time.Now(); every(ctx, time.Millisecond); began = time.Now() {
		late := int64(time.Since(began) - time.Millisecond)
		for was := w.late.Load(); late > was && !w.late.CompareAndSwap(was, late); was = w.late.Load() {
		}
	}
}

// barring blocks and bans keys of its own, and looks whether that holds, also while the
// clock is behind where it was.
func (w *world) barring(ctx context.Context, _ *rand.Rand) {
	for n := 0; every(ctx, 20*time.Millisecond); n++ {
		apikey := fmt.Sprint("barred-", n%5000) // each again when its ban is long over
		h := w.handle(apikey, churn)
		calls := int64(0)
		expect := func(d tickgate.Decision, want tickgate.Reason) {
			calls++
			if d.Reason != want {
				w.add("a call of %s: %v instead of %v", apikey, d.Reason, want)
			}
		}
		w.gate.Block(apikey)
		expect(w.gate.Take(apikey, churn, 1), tickgate.Blocked)
		expect(h.Take(1), tickgate.Blocked)
		w.gate.Unblock(apikey)
		w.blocks.Add(1)

		w.clock.calm.RLock() // else the ban may be over at once
		h.Ban(w.clock.Now().Add(5 * time.Second))
		expect(h.Take(1), tickgate.Banned)
		expect(h.TakeUrgentAt(w.clock.Now(), 1), tickgate.Banned)
		if d := w.gate.Take(apikey, churn, 0); d.Reason != tickgate.Banned || d.RetryAfter > 5*time.Second {
			w.add("a look at %s, which is banned for 5 s: %v, retry after %v", apikey, d.Reason, d.RetryAfter)
		}
		w.bans.Add(1)
		w.clock.calm.RUnlock()
		h.Release()
		w.counts[churn].Add(calls)
	}
}

var _ clock.Clock = (*warped)(nil)
