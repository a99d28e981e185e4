package refmodel

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// op takes n tokens, or gives take number back back, at a time in ms.
type op struct {
	now  int64
	n    int64
	back int
}

func TestRefund(t *testing.T) {
	for _, c := range []struct {
		name  string
		ops   []op
		after int64    // ms
		used  *big.Rat // then
	}{
		{"at once", []op{{now: 0, n: 3}, {now: 0, back: 0}}, 0, big.NewRat(0, 1)},
		{"the trap", []op{{now: 0, n: 1}, {now: 1000, n: 1}, {now: 1000, back: 0}}, 1000, big.NewRat(1, 1)},
		{"half", []op{{now: 0, n: 1}, {now: 500, n: 1}, {now: 500, back: 0}}, 500, big.NewRat(1, 1)},
		{"on a base", []op{{now: 0, n: 2}, {now: 0, n: 2}, {now: 3000, n: 4}, {now: 3000, back: 1}}, 3000, big.NewRat(4, 1)},
		{"base moved by a refund", []op{{now: 0, n: 1}, {now: 0, n: 1}, {now: 0, back: 0}, {now: 1000, n: 1}, {now: 1000, back: 1}}, 1000, big.NewRat(1, 1)},
		{"in reverse", []op{{now: 0, n: 1}, {now: 0, n: 1}, {now: 0, n: 1}, {now: 0, back: 2}, {now: 0, back: 1}, {now: 0, back: 0}}, 0, big.NewRat(0, 1)},
		{"late", []op{{now: 0, n: 1}, {now: 750, n: 1}, {now: 0, back: 0}}, 750, big.NewRat(1, 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := New(1, second, 5)
			var taken []Decision
			for _, o := range c.ops {
				if o.n == 0 {
					b.Refund(at(o.now), taken[o.back].Receipt)
					continue
				}
				d := b.TakeAt(at(o.now), o.n)
				require.True(t, d.Allowed)
				taken = append(taken, d)
			}
			require.Zero(t, b.Used(at(c.after)).Cmp(c.used), "%v", b.Used(at(c.after)))
		})
	}
}

// A charge that a change of the rate came after: time brought what it brought at
// the rate of its day.
func TestRefundAfterApply(t *testing.T) {
	b := New(1000, second, 1000)
	d := b.TakeAt(0, 1000)
	require.True(t, b.TakeAt(at(1000), 1000).Allowed)
	b.Apply(at(1000), 1, second, 1000)
	b.Refund(at(1000), d.Receipt)
	require.Zero(t, b.Peek(at(1000)).Remaining, "refilled by time before the change")

	b = New(1, second, 10)
	d = b.TakeAt(0, 4)
	b.Apply(at(1000), 10, second, 20)
	b.Refund(at(1100), d.Receipt) // 1 and 1 have come
	require.Equal(t, int64(20), b.Peek(at(1100)).Remaining)
	b.Charge(at(1100), 1)
	require.Equal(t, int64(19), b.Peek(at(1100)).Remaining)
}

func TestRefundOfNothing(t *testing.T) {
	b := New(1, second, 5)
	b.TakeAt(0, 5)
	denied := b.TakeAt(0, 1)
	b.Refund(0, denied.Receipt)
	b.Refund(0, b.Peek(0).Receipt)
	b.Refund(0, Receipt{})
	require.Zero(t, b.Peek(0).Remaining)
}

// However takes and refunds follow each other, there is never more than if what
// was given back had never been taken.
func TestRefundMintsNothing(t *testing.T) {
	type charge struct {
		at   clock.Time
		n    int64
		back bool
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		rate, capacity := 1+rng.Int64N(3), 1+rng.Int64N(8)
		b := New(rate, 7, capacity)
		var charges []charge
		var receipts []Receipt
		now := clock.Time(0)
		for range 12 {
			now += clock.Time(rng.Int64N(9) * rng.Int64N(2))
			if k := len(charges); k > 0 && rng.IntN(2) == 0 {
				if i := rng.IntN(k); !charges[i].back {
					b.Refund(now, receipts[i])
					charges[i].back = true
				}
			} else if n := 1 + rng.Int64N(capacity); true {
				if d := b.TakeAt(now, n); d.Allowed {
					charges = append(charges, charge{at: now, n: n})
					receipts = append(receipts, d.Receipt)
				}
			}
			without := New(rate, 7, capacity)
			for _, c := range charges {
				if !c.back {
					without.Charge(c.at, c.n)
				}
			}
			require.GreaterOrEqual(t, b.Used(now).Cmp(without.Used(now)), 0, "%+v", charges)
		}
	}
}
