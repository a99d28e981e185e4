package tickgate_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// common is a common account of keys that do not refill: it is charged with what
// several gates settle.
type common struct {
	mu       sync.Mutex
	capacity int64
	used     map[string]int64
}

// charge takes n tokens of a key, and returns the level in millionths.
func (c *common) charge(key string, n int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used[key] += n
	return (c.capacity - c.used[key]) * 1_000_000
}

// keep settles what l collects until stop is closed, and then the rest. A third of the
// answers is lost, and a third comes in two parts.
func (c *common) keep(t testing.TB, l *tickgate.Ledger, stop <-chan struct{}) {
	r := rand.New(rand.NewPCG(1, 2))
	told := map[tickgate.Account]int64{} // charged, and not settled since the answer was lost
	open := map[tickgate.Account]bool{}
	for last := false; ; {
		l.Collect(func(a tickgate.Account) { open[a] = true })
		for a := range open {
			terms, ok := l.Describe(a)
			u, there := l.Open(a)
			if !ok || !there {
				delete(open, a)
				continue
			}
			level := c.charge(terms.APIKey, u.Pending-told[a])
			told[a] = u.Pending
			if !last && r.IntN(3) == 0 {
				continue
			}
			done := u.Pending
			if r.IntN(2) == 0 {
				done /= 2
			}
			if !l.Settle(a, tickgate.Settlement{Used: done, Level: level + (u.Pending-done)*1_000_000, Done: done == u.Pending}) {
				continue // somebody kept the key busy: as if the answer was lost
			}
			if told[a] -= done; told[a] == 0 {
				delete(open, a)
			}
		}
		if last && len(open) == 0 {
			return
		}
		select {
		case <-stop:
			last = true
		default:
		}
	}
}

// Takers of several gates share budgets that do not refill while the test runs. What
// they take together is what is there, and at most the credits of all but one more.
func TestShareStress(t *testing.T) {
	const (
		gates, takers, keys = 3, 3, 4
		capacity, credit    = 2000, 30
	)
	account := &common{capacity: capacity, used: map[string]int64{}}
	var admitted [keys]atomic.Int64
	var settlers, callers sync.WaitGroup
	stop := make(chan struct{})
	for range gates {
		g, l := budgetGate(t, capacity, credit)
		settlers.Go(func() { account.keep(t, l, stop) })
		for n := range takers {
			callers.Go(func() { takeAllOf(t, g, n, admitted[:]) })
		}
	}
	callers.Wait()
	close(stop)
	settlers.Wait()
	for k := range admitted {
		n := admitted[k].Load()
		require.GreaterOrEqual(t, account.used[fmt.Sprint("key", k)], n, "what was admitted is accounted for")
		require.GreaterOrEqual(t, n, int64(capacity))
		require.LessOrEqual(t, n, int64(capacity+(gates-1)*credit))
	}
}

func budgetGate(t testing.TB, capacity, credit int64) (*tickgate.Gate, *tickgate.Ledger) {
	g, err := tickgate.New(tickgate.Config{
		Clock: clock.NewManual(clock.Time(time.Hour)),
		Policies: policy.Set{{Endpoint: "e", Credit: credit, Limits: []policy.Limit{
			{Tokens: capacity, Per: time.Hour},
		}}},
	})
	require.NoError(t, err)
	l, err := g.Share([]tickgate.Budget{{Endpoint: "e", Mode: tickgate.CreditMode}})
	require.NoError(t, err)
	return g, l
}

// takeAllOf takes until the limits of all keys deny, not for want of credit, many times
// in a row; what it gives back was never admitted.
func takeAllOf(t testing.TB, g *tickgate.Gate, seed int, admitted []atomic.Int64) {
	r := rand.New(rand.NewPCG(uint64(seed), 3))
	handles := make([]tickgate.Handle, len(admitted))
	for k := range handles {
		h, err := g.Handle(fmt.Sprint("key", k), "e")
		require.NoError(t, err)
		handles[k] = h
	}
	pair, err := tickgate.Join(handles[0], handles[1])
	require.NoError(t, err)
	for empty := 0; empty < 200; {
		k, n := r.IntN(len(admitted)), 1+int64(r.IntN(3))
		var d tickgate.Decision
		switch r.IntN(4) {
		case 0:
			if d = pair.TakeAt(clock.Time(time.Hour), n); d.Allowed {
				admitted[0].Add(n)
				admitted[1].Add(n)
			}
		case 1:
			if d = handles[k].Take(n); d.Allowed {
				admitted[k].Add(n)
			}
		default:
			if d.Allowed = g.AllowN(fmt.Sprint("key", k), "e", n); d.Allowed {
				admitted[k].Add(n)
			} else {
				d = g.Take(fmt.Sprint("key", k), "e", 0)
				d.Allowed = false
			}
		}
		switch {
		case d.Allowed:
			empty = 0
		case d.Reason == tickgate.Limited || d.Reason == tickgate.OK && d.Remaining == 0:
			empty++
		}
	}
	// Until nothing is left anywhere, one by one.
	for k := range handles {
		for {
			d := handles[k].Take(1)
			if d.Allowed {
				admitted[k].Add(1)
			} else if d.Reason == tickgate.Limited {
				break
			}
		}
	}
}

// Takes that are given back at once, or charged into debt, leave no trace but what was
// told meanwhile, and that is used up, not minted.
func TestShareStressRefunds(t *testing.T) {
	account := &common{capacity: 100_000, used: map[string]int64{}}
	g, l := budgetGate(t, 100_000, 500)
	var settlers, callers sync.WaitGroup
	stop := make(chan struct{})
	settlers.Go(func() { account.keep(t, l, stop) })
	var kept atomic.Int64
	for n := range 3 {
		callers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 4))
			h, err := g.Handle("key0", "e")
			require.NoError(t, err)
			for range 5000 {
				switch d := h.Take(1); {
				case d.Allowed && r.IntN(2) == 0:
					h.Refund(d)
				case d.Allowed:
					kept.Add(1)
				case r.IntN(10) == 0:
					h.Charge(1)
					kept.Add(1)
				}
			}
		})
	}
	callers.Wait()
	close(stop)
	settlers.Wait()
	require.GreaterOrEqual(t, account.used["key0"], kept.Load(), "nothing that was kept was not accounted for")
	d := g.Take("key0", "e", 0)
	require.Equal(t, 100_000-account.used["key0"], d.Remaining, "the level here is the common one")
}

func TestG5NoAllocationsShared(t *testing.T) {
	g, l := budgetGate(t, 1<<20, 1<<20)
	h, err := g.Handle("key0", "e")
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(1000, func() { g.Allow("key0", "e") }))
	require.Zero(t, testing.AllocsPerRun(1000, func() { g.Take("key0", "e", 1) }))
	require.Zero(t, testing.AllocsPerRun(1000, func() { h.Allow() }))
	require.Zero(t, testing.AllocsPerRun(1000, func() { h.Take(1) }))
	var a tickgate.Account
	each := func(b tickgate.Account) { a = b }
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		h.Allow()
		l.Collect(each)
		u, _ := l.Open(a)
		l.Settle(a, tickgate.Settlement{Used: u.Pending, Level: 1 << 40, Done: true})
	}))
}
