package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate"
)

// plan is what a run is to be like.
type plan struct {
	length time.Duration
	keys   int
	seed   uint64
	stop   <-chan os.Signal // ends it early; nil: nothing does
}

// world is a run.
type world struct {
	plan
	clock *warped
	gate  *tickgate.Gate
	other *tickgate.Gate // which shares a budget with it
	faults

	judges  []*judge
	waiters []*judge
	books   map[string][]*book // by endpoint
	counts  map[string]*atomic.Int64
	common  *ledgers
	fleet   *fleet

	applies, applied     atomic.Int64 // changes of the policies that were begun, and are over
	jumps, back          atomic.Int64
	lastBack             atomic.Int64 // real time at which forced drops end that a clock set back excuses
	decided              atomic.Int64
	waits, gaveUp        atomic.Int64
	late                 atomic.Int64 // ns that a timer was late, at most
	blocks, bans, groups atomic.Int64
	refunds              atomic.Int64
}

const books, watchedKeys, waitedKeys, commonKeys = 8, 32, 4, 8

// soak makes a run.
func soak(p plan) ([]row, []string, error) {
	before := runtime.NumGoroutine()
	w := &world{plan: p, clock: newWarped(), books: map[string][]*book{}, counts: map[string]*atomic.Int64{}}
	var err error
	if w.gate, err = tickgate.New(tickgate.Config{Policies: sets()[0], MaxKeys: p.keys / 2, Clock: w.clock}); err != nil {
		return nil, nil, err
	}
	if w.other, err = tickgate.New(tickgate.Config{Policies: sets()[0], MaxKeys: 100, Clock: w.clock}); err != nil {
		return nil, nil, err
	}
	for i := range watchedKeys {
		w.judges = append(w.judges, newJudge(fmt.Sprint("watched key ", i), watchedTokens, time.Second, watchedBurst))
	}
	for i := range waitedKeys {
		w.waiters = append(w.waiters, newJudge(fmt.Sprint("waited key ", i), waitedTokens, time.Second, waitedBurst))
	}
	for _, e := range []string{session, account, firm} {
		for range books {
			w.books[e] = append(w.books[e], new(book))
		}
	}
	for _, e := range []string{churn, watched, session, account, firm, common} {
		w.counts[e] = new(atomic.Int64)
	}
	if w.common, err = share(w.gate, w.other); err != nil {
		return nil, nil, err
	}
	if w.fleet, err = newFleet(); err != nil {
		return nil, nil, err
	}
	began := w.clock.Axis()
	ctx, cancel := context.WithTimeout(context.Background(), p.length)
	defer cancel()
	watch := w.start(ctx, cancel)
	w.atRest(float64(w.clock.Axis()-began) / 1e9)
	w.gate.Close()
	w.other.Close()
	if err := w.fleet.close(); err != nil {
		w.add("the gates that share through Redis: %v", err)
	}
	watch.leaks(w, before)
	rows := w.rows(watch)
	return rows, w.faults.all(), nil
}

// start lets everything run until ctx is done, and waits for its end.
func (w *world) start(ctx context.Context, cancel func()) *watch {
	var all sync.WaitGroup
	drive := func(n int, f func(context.Context, *rand.Rand)) {
		for range n {
			r := rand.New(rand.NewPCG(w.seed, rand.Uint64()))
			all.Go(func() { f(ctx, r) })
		}
	}
	names := names(w.keys)
	w.warm(names)
	drive(runtime.GOMAXPROCS(0), func(ctx context.Context, r *rand.Rand) { w.churn(ctx, r, names) })
	drive(3, w.watched)
	drive(3, w.groupwise)
	drive(2, w.handlewise)
	drive(6, w.waiting)
	drive(2, w.lateness)
	drive(2, w.sharing)
	for in := range w.fleet.gates {
		drive(1, func(ctx context.Context, r *rand.Rand) { w.fleet.drive(ctx, r, in, &w.faults) })
	}
	drive(1, w.barring)
	drive(1, w.applying)
	drive(1, w.jumping)
	all.Go(func() { w.common.keep(ctx, &w.faults) })
	watch := newWatch(w)
	all.Go(func() { watch.run(ctx) })
	select {
	case <-w.stop:
		cancel()
	case <-ctx.Done():
	}
	all.Wait()
	return watch
}

// warm touches all memory that keys may come to need, which the system gives when it is
// first used: for a take by a handle and for a clock that was set back. From then on it
// must not grow.
func (w *world) warm(names []string) {
	for _, name := range names {
		h := w.handle(name, churn)
		h.Take(1)
		h.Release()
		w.counts[churn].Add(1)
	}
}

// applying changes the policies every second.
func (w *world) applying(ctx context.Context, _ *rand.Rand) {
	all := sets()
	for every(ctx, time.Second) {
		n := w.applies.Add(1)
		for _, g := range []*tickgate.Gate{w.gate, w.other} {
			if err := g.Apply(all[int(n)%len(all)]); err != nil {
				w.add("Apply: %v", err)
			}
		}
		if err := w.fleet.apply(n); err != nil {
			w.add("Apply, with budgets in Redis: %v", err)
		}
		w.applied.Add(1)
	}
}

// jumping sets the clock forth by up to ten minutes, and sometimes back by up to two.
func (w *world) jumping(ctx context.Context, r *rand.Rand) {
	for every(ctx, max(w.length/20, 700*time.Millisecond)) {
		by := time.Duration(1 + r.Int64N(int64(10*time.Minute)))
		if w.jumps.Add(1)%4 == 1 {
			by = -time.Duration(r.Int64N(int64(2*time.Minute))) - 11*time.Second
			w.back.Add(1)
			w.lastBack.Store(int64(w.clock.real.Now()) - int64(by))
		} else if w.back.Load() > 0 {
			// The clock may be now where keys that were shifted are ahead of it by less than
			// 10 s, which are waited for.
			w.lastBack.Store(max(w.lastBack.Load(), int64(w.clock.real.Now())))
		}
		w.clock.jump(by)
	}
}

// every waits for d and reports whether to go on.
func every(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
