package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate"
)

// ledgers are two gates' sides of a common account, and the account, which refills
// nothing.
type ledgers struct {
	gates   []*tickgate.Gate
	ledgers []*tickgate.Ledger

	open []map[tickgate.Account]int64 // by gate: what was charged and is not settled

	mu   sync.Mutex
	used map[string]int64 // what the gates told

	kept    [commonKeys]atomic.Int64 // admitted, less what was given back
	taken   [commonKeys]atomic.Int64 // admitted
	settled atomic.Int64
}

func share(gates ...*tickgate.Gate) (*ledgers, error) {
	l := &ledgers{gates: gates, used: map[string]int64{}}
	for _, g := range gates {
		ledger, err := g.Share([]tickgate.Budget{{Endpoint: common, Mode: tickgate.CreditMode}})
		if err != nil {
			return nil, err
		}
		l.ledgers = append(l.ledgers, ledger)
		l.open = append(l.open, map[tickgate.Account]int64{})
	}
	return l, nil
}

// charge takes n tokens of a key from the account, and returns its level in millionths.
func (l *ledgers) charge(key string, n int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used[key] += n
	return (commonBurst - l.used[key]) * 1_000_000
}

func (l *ledgers) told(key string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used[key]
}

// keep settles what the gates used every few milliseconds, and at last all of it. Now
// and then an answer is lost.
func (l *ledgers) keep(ctx context.Context, f *faults) {
	r := rand.New(rand.NewPCG(3, 4))
	for every(ctx, 5*time.Millisecond) {
		l.settle(l.open, func() bool { return r.IntN(4) == 0 })
		l.check(f)
	}
}

// settle opens and settles every account that was used.
func (l *ledgers) settle(open []map[tickgate.Account]int64, lost func() bool) {
	for i, ledger := range l.ledgers {
		ledger.Collect(func(a tickgate.Account) { open[i][a] += 0 })
		for a, told := range open[i] {
			terms, ok := ledger.Describe(a)
			u, there := ledger.Open(a)
			if !there {
				delete(open[i], a)
			}
			if !ok || !there {
				continue // the policy is changing
			}
			level := l.charge(terms.APIKey, u.Pending-told)
			open[i][a] = u.Pending
			if lost() || !ledger.Settle(a, tickgate.Settlement{Used: u.Pending, Level: level, Done: true}) {
				continue
			}
			delete(open[i], a)
			l.settled.Add(1)
		}
	}
}

// check holds what was admitted against what the account knows: the rest is on credit,
// at most as much as every gate has.
func (l *ledgers) check(f *faults) {
	for k := range l.kept {
		kept := l.kept[k].Load() // before: what is told later only makes it more
		if told := l.told(commonKey(k)); kept > told+credit*int64(len(l.gates)) {
			f.add("%s: %d tokens were admitted, the account knows of %d, and the credits are %d each", commonKey(k), kept, told, credit)
		}
	}
}

func commonKey(k int) string { return fmt.Sprint("common-", k) }

// sharing takes from the shared budgets, in both gates.
func (w *world) sharing(ctx context.Context, r *rand.Rand) {
	l := w.common
	for ctx.Err() == nil {
		for range 20 {
			k, n := r.IntN(commonKeys), 1+r.Int64N(3)
			in := r.IntN(len(l.gates))
			g := l.gates[in]
			calls := int64(1)
			if r.IntN(2) == 0 {
				if g.AllowN(commonKey(k), common, n) {
					l.taken[k].Add(n)
					l.kept[k].Add(n)
				}
			} else if h, err := g.Handle(commonKey(k), common); err != nil {
				w.add("a handle of a shared key: %v", err)
				calls = 0
			} else {
				if d := h.Take(n); d.Allowed {
					l.taken[k].Add(n)
					if r.IntN(4) == 0 {
						h.Refund(d)
					} else {
						l.kept[k].Add(n)
					}
				}
				h.Release()
			}
			if in == 0 {
				w.counts[common].Add(calls)
			}
		}
		every(ctx, time.Millisecond)
	}
}
