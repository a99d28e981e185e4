package bucket

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/internal/refmodel"
)

// ledger is a word with takes that can be given back, and the whole history.
type ledger struct {
	testing.TB
	l       Limit
	o       Origin
	w       uint64
	now     clock.Time
	given   int64 // ns, as a table counts it
	forget  bool  // gives back as if nothing had been given back before
	charges []charge

	m     *refmodel.Bucket
	exact bool // a unit is a nanosecond: nothing is rounded, the model agrees
}

type charge struct {
	Charged
	n       int64
	back    bool // was given back
	receipt refmodel.Receipt
}

func newLedger(t testing.TB, l Limit, start clock.Time) *ledger {
	g := &ledger{TB: t, l: l, o: OriginOf(6), now: start, m: refmodel.NewBucket(modelLimit(&l))}
	g.w = l.Full(g.o, start)
	g.m.Peek(start)
	g.exact = l.unit == 2
	return g
}

// take takes n tokens, if they are there, and reports whether they were.
func (g *ledger) take(n int64) bool {
	next, ok := g.l.Take(g.w, g.o, g.now, n)
	if !ok {
		return false
	}
	g.w = next
	c := charge{n: n, Charged: Charged{
		At: g.now, Done: g.given, Ahead: g.l.AheadBefore(next, g.o, g.now, n),
	}}
	if g.exact {
		d := g.m.TakeAt(g.now, n)
		require.True(g, d.Allowed)
		c.receipt = d.Receipt
	}
	g.charges = append(g.charges, c)
	return true
}

// refund gives charge i back, and returns how many tokens that were, rounded
// down.
func (g *ledger) refund(i int) int64 {
	c := &g.charges[i]
	before := g.given - c.Done
	if g.forget {
		before = 0
	}
	units, ns := g.l.GiveBack(c.Charged, g.now, c.n, before)
	require.LessOrEqual(g, int64(units), c.n*g.l.cost, "more than was taken")
	require.Equal(g, ceilDiv(int64(units), g.l.unit), ns)
	require.Zero(g, units%2)
	g.w = g.l.Lower(g.w, g.o, g.now, units)
	g.given += ns
	c.back = true
	if g.exact {
		g.m.Refund(g.now, c.receipt)
	}
	return int64(units) / g.l.cost
}

// without is what would be used now, in units, had the charges that were given
// back never been made.
func (g *ledger) without() int64 {
	u, at := int64(0), g.now
	if len(g.charges) > 0 {
		at = g.charges[0].At
	}
	for _, c := range g.charges {
		u = max(0, u-int64(c.At-at)*int64(g.l.unit))
		at = c.At
		if !c.back {
			u += c.n * g.l.cost
		}
	}
	return max(0, u-int64(g.now-at)*int64(g.l.unit))
}

// minted is by how many units more is there than if what was given back had
// never been taken.
func (g *ledger) minted() int64 { return g.without() - used(g.w, g.l.pos(g.o, g.now)) }

// play plays a tape of takes and refunds.
func (g *ledger) play(tape *tape) {
	token := max(1, ceilDiv(g.l.cost, g.l.unit))
	for len(g.charges) < 40 && !tape.done() {
		switch tape.below(4) {
		case 0:
			g.now += clock.Time(int64(tape.below(8)) * token / 2)
		case 1:
			g.now += clock.Time(int64(tape.uint(2)) % (2 * token))
		}
		if k := len(g.charges); k > 0 && tape.below(2) == 0 {
			if i := int(tape.below(uint64(k))); !g.charges[i].back {
				g.refund(i)
			}
		} else {
			g.take(1 + int64(tape.below(uint64(min(g.l.Capacity(), 255)))))
		}
		if g.forget {
			continue
		}
		require.LessOrEqual(g, g.minted(), int64(0), "minted units")
		if g.exact {
			require.Zero(g, usedTokens(&g.l, g.w, g.o, g.now).Cmp(g.m.Used(g.now)), "the model differs")
		}
	}
}

func oneASecond(t testing.TB, capacity int64) *ledger {
	return newLedger(t, rate{tokens: 1, per: second, capacity: capacity}.limit(t), 0)
}

// A full bucket; A takes, a token's time passes, X takes, A gives back: nothing,
// because time has refilled A's token already, and the bucket was full then.
func TestGiveBackTrap(t *testing.T) {
	g := oneASecond(t, 5)
	g.take(1) // A
	g.now = clock.Time(second)
	g.take(1) // X
	require.Zero(t, g.refund(0))
	require.Equal(t, int64(4), g.l.Remaining(g.w, g.o, g.now))
	require.Zero(t, g.minted())
}

func TestGiveBackTable(t *testing.T) {
	const ms = clock.Time(second / 1000)
	t.Run("at once: all of it", func(t *testing.T) {
		g := oneASecond(t, 5)
		g.take(3)
		require.Equal(t, int64(3), g.refund(0))
		require.Equal(t, g.l.Full(g.o, 0), g.w)
	})
	t.Run("half a token later: the other half", func(t *testing.T) {
		g := oneASecond(t, 5)
		g.take(1) // A
		g.now = 500 * ms
		g.take(1) // X
		g.refund(0)
		require.Equal(t, second, g.l.Used(g.w, g.o, g.now))
	})
	t.Run("on a base: time refills that first", func(t *testing.T) {
		g := oneASecond(t, 5)
		g.take(2) // X
		g.take(1) // A
		g.now = 2000 * ms
		require.Equal(t, int64(1), g.refund(1))
		require.Zero(t, g.l.Used(g.w, g.o, g.now))
	})
	t.Run("on a base: part", func(t *testing.T) {
		g := oneASecond(t, 5)
		g.take(2)
		g.take(2) // A, on [2, 4)
		g.now = 3000 * ms
		g.take(4)
		require.Equal(t, int64(1), g.refund(1))
		require.Equal(t, 4*second, g.l.Used(g.w, g.o, g.now))
	})
	t.Run("two refunds in a row: not the same stretch twice", func(t *testing.T) {
		// A on [0, 1), B on [1, 2). At 1.5 X takes. B gives back its other half.
		// A has nothing to give: its token is refilled.
		g := oneASecond(t, 5)
		g.take(1)
		g.take(1)
		g.now = 1500 * ms
		g.take(1)
		require.Zero(t, g.refund(0))
		g.refund(1)
		require.Equal(t, second, g.l.Used(g.w, g.o, g.now))
	})
	t.Run("the first refund moves what lies on it", func(t *testing.T) {
		// A on [0, 1), B on [1, 2). A gives back at once: B lies on [0, 1) now, and
		// at 1 it is refilled.
		g := oneASecond(t, 5)
		g.take(1)
		g.take(1)
		require.Equal(t, int64(1), g.refund(0))
		g.now = 1000 * ms
		g.take(1)
		require.Zero(t, g.refund(1))
		require.Equal(t, second, g.l.Used(g.w, g.o, g.now))
	})
	t.Run("reserve 15, 10, 2, cancel the 10", func(t *testing.T) {
		g := newLedger(t, rate{tokens: 10, per: second, capacity: 30}.limit(t), 0)
		g.take(15)
		g.now = 100 * ms
		g.take(10)
		g.now = 200 * ms
		g.take(2)
		g.now = 300 * ms
		require.Equal(t, int64(10), g.refund(1))
		require.Equal(t, int64(16), g.l.Remaining(g.w, g.o, g.now)) // 6 of 20
	})
	t.Run("in reverse, at once", func(t *testing.T) {
		g := newLedger(t, rate{tokens: 60, per: second, capacity: 3}.limit(t), 0)
		for range 3 {
			require.True(t, g.take(1))
		}
		for i := 2; i >= 0; i-- {
			require.Equal(t, int64(1), g.refund(i))
		}
		require.Equal(t, int64(3), g.l.Remaining(g.w, g.o, g.now))
	})
	t.Run("years later: nothing, and no overflow", func(t *testing.T) {
		for _, r := range rates {
			l := r.limit(t)
			for _, later := range []clock.Time{clock.Time(year), 1 << 62, 1<<63 - 1} {
				units, ns := l.GiveBack(Charged{}, later, r.capacity, 1<<62)
				require.Zero(t, units)
				require.Zero(t, ns)
			}
			units, ns := l.GiveBack(Charged{Ahead: year}, 0, r.capacity, 0)
			require.Equal(t, l.room, int64(units))
			require.Equal(t, ceilDiv(l.room, l.unit), ns)
		}
	})
}

// What others gave back meanwhile leaves less to give: never below full.
func TestLowerStopsAtFull(t *testing.T) {
	eachRate(t, func(t *testing.T, l *Limit, o Origin, start clock.Time) {
		w := mustTake(t, l, l.Full(o, start), o, start, 1)
		units, _ := l.GiveBack(Charged{At: start}, start, 1, 0)
		require.Equal(t, l.cost, int64(units))
		require.Equal(t, l.Full(o, start), l.Lower(w, o, start, units))
		require.Equal(t, l.Full(o, start), l.Lower(w, o, start, 2*units))
		require.Equal(t, l.Full(o, start), l.Lower(l.Full(o, start), o, start, units))
		later := start + clock.Time(year)
		require.Equal(t, w, l.Lower(w, o, later, units), "full by time: nothing to lower")
	})
}

// Never more than if what was given back had not been taken, over many thousand
// histories; where nothing is rounded, exactly what the model gives.
func TestGiveBackMintsNothing(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 4_000
	}
	histories(t, n, func(l Limit, tape *tape) {
		newLedger(t, l, 0).play(tape)
	})
}

// The search would find it if R were left out of the formula.
func TestGiveBackSearchFinds(t *testing.T) {
	found := 0
	histories(t, 4_000, func(l Limit, tape *tape) {
		g := newLedger(t, l, 0)
		g.forget, g.exact = true, false
		g.play(tape)
		if g.minted() > 0 {
			found++
		}
	})
	require.Positive(t, found)
}

func histories(t *testing.T, n int, f func(l Limit, tape *tape)) {
	rng := rand.New(rand.NewPCG(31, 32))
	for range n {
		b := make([]byte, rng.IntN(60))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		f(giveBackLimit(rng.Uint64()), &tape{b})
		if t.Failed() {
			return
		}
	}
}

// giveBackLimit is a limit with a small capacity, for short histories.
func giveBackLimit(seed uint64) Limit {
	shapes := [][2]int64{{1, second}, {1, 10}, {7, second}, {63, second}, {3, 1000}, {63, 61}, {2, 1}, {5, 7}}
	s := shapes[seed%uint64(len(shapes))]
	l, err := New(s[0], s[1], 1+int64(seed>>8%10))
	if err != nil {
		panic(err)
	}
	return l
}
