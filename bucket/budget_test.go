package bucket

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// account is a Budget on credit as it is meant.
type account struct {
	pending       int64
	flight, known bool
	credit, first int64
}

func (a *account) take(n int64) bool {
	allowed := a.credit - a.pending
	if !a.known && a.pending > 0 {
		allowed = min(a.credit, a.first) - a.pending
	}
	if n > 0 && n > allowed {
		return false
	}
	a.pending += n
	return true
}

func checkBudget(t *testing.T, ops []byte) {
	terms := new(Terms)
	a := account{credit: 40, first: 15}
	terms.First.Store(a.first)
	l, err := NewBudget(OnCredit, a.credit, terms)
	require.NoError(t, err)
	o, now := OriginOf(77), clock.Time(5)
	l = l.of(3, 1)
	w := l.Empty(o, now)
	c := Cell{Origin: o}
	for i := 0; i+1 < len(ops); i += 2 {
		n := int64(ops[i+1]) % 50
		switch ops[i] % 8 {
		case 0, 1, 2:
			next, got := l.Try(w, &c, now, n%41, false)
			require.Equal(t, a.take(n%41), got == Fits)
			if got == Fits {
				w = next
			}
		case 3:
			w, _ = l.Force(w, &c, now, n)
			a.pending += n
		case 4:
			// The newest charge of n tokens is taken back, told or not.
			next, ok := l.Untold(w, o, l.Total(w, o), n)
			require.Equal(t, !a.flight && n > 0 && n <= a.pending, ok)
			if ok {
				w = next
				a.pending -= n
			}
		case 5:
			w = l.InFlight(w, o)
			a.flight = true
		case 6:
			done := n%2 == 0
			n = min(n, a.pending)
			if done {
				n = a.pending // all that was told
			}
			w = l.Settled(w, o, n, done)
			a.pending -= n
			a.known = true
			a.flight = a.flight && !done
		case 7: // a change of the policy
			next, gen := l, uint32(ops[i+1])
			next = next.of(gen, l.Parity()^1)
			require.True(t, next.Converts(&l))
			w, l = next.Convert(&l, w, o, now), next
		}
		require.Equal(t, a.pending, l.Pending(w, o))
		require.Equal(t, a.pending == 0, l.Busy(w, o, now) == 0)
		require.Equal(t, a.pending, l.Spent(w, &c, now))
		if last := l.Total(w, o); a.pending > 0 {
			_, ok := l.Untold(w, o, last-uint32(a.pending), 1)
			require.False(t, ok, "it was settled")
			_, ok = l.Untold(w, o, last+1, 1)
			require.False(t, ok, "it was not taken")
		}
		require.True(t, l.Reads(w))
	}
}

func TestBudgetModel(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		ops := make([]byte, 400)
		for i := range ops {
			ops[i] = byte(r.Uint32())
		}
		checkBudget(t, ops)
	}
}

func FuzzBudget(f *testing.F) {
	f.Add([]byte{0, 10, 5, 0, 0, 5, 4, 3, 6, 8, 7, 1, 0, 40})
	f.Fuzz(checkBudget)
}

// The counts go round at 2^30.
func TestBudgetGoesRound(t *testing.T) {
	terms := new(Terms)
	l, err := NewBudget(OnCredit, MaxCredit, terms)
	require.NoError(t, err)
	o := OriginOf(9)
	w := l.Settled(l.Empty(o, 0), o, 0, true)
	for range 40 {
		next, got := l.TryBudget(w, o, Ring{}, 0, MaxCredit, false)
		require.Equal(t, Fits, got)
		_, got = l.TryBudget(next, o, Ring{}, 0, 1, false)
		require.Equal(t, Short, got)
		require.EqualValues(t, MaxCredit, l.Pending(next, o))
		w = l.Settled(next, o, MaxCredit, true)
		require.Zero(t, l.Pending(w, o))
	}
	w = l.chargeBudget(w, o, math.MaxInt64)
	w = l.chargeBudget(w, o, math.MaxInt64)
	w = l.chargeBudget(w, o, math.MaxInt64)
	require.EqualValues(t, 1<<29-2, l.Pending(w, o), "a debt that is too large stays one")
}

func TestBudgetRefusesBadCredit(t *testing.T) {
	for _, n := range []int64{-1, 0, MaxCredit + 1} {
		_, err := NewBudget(OnCredit, n, new(Terms))
		require.ErrorIs(t, err, ErrCredit)
	}
}

// A level that is set is what is read, rounded down, and never more than the capacity.
func TestLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 5000 {
		tokens := 1 + r.Int64N(1000)
		l, err := New(tokens, 1+r.Int64N(1e12), tokens)
		if err != nil {
			continue
		}
		l = l.of(r.Uint32(), 1)
		o, now := OriginOf(r.Uint64()), clock.Time(r.Int64())
		level := r.Int64N(3*tokens*millionths) - tokens*millionths
		w := l.Set(o, now, level)
		require.True(t, l.Reads(w))
		want := min(level, tokens*millionths)
		got := l.Level(w, o, now)
		// One unit of the axis is so many millionths.
		unit := new(big.Int).Div(big.NewInt(2*millionths), big.NewInt(l.cost)).Int64() + 1
		require.LessOrEqual(t, got, want)
		require.GreaterOrEqual(t, got, want-unit)
	}
}

func TestLevelOfDeepDebt(t *testing.T) {
	l, err := New(1, 1_000_000_000, 10)
	require.NoError(t, err)
	o := OriginOf(1)
	w := l.Set(o, 0, math.MinInt64/2)
	require.Less(t, l.Level(w, o, 0), int64(0))
	require.Zero(t, l.Left(w, &Cell{Origin: o}, 0, false))
	w = l.Charge(l.Full(o, 0), o, 0, math.MaxInt64)
	require.Less(t, l.Level(w, o, 0), int64(0))
}
