package bucket

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// Eight of ten used: capacity five leaves none, and ten again leaves two.
func TestCapacityChange(t *testing.T) {
	ten := rate{tokens: 10, per: second, capacity: 10}.limit(t)
	five := rate{tokens: 10, per: second, capacity: 5}.limit(t).WithParity(1)
	o, at := OriginOf(2), clock.Time(12345)
	w := mustTake(t, &ten, ten.Full(o, at), o, at, 8)
	w = five.Convert(&ten, w, o, at)
	require.Equal(t, uint64(1), Parity(w))
	require.Zero(t, five.Remaining(w, o, at))
	require.Equal(t, 3*second/10, five.Retry(w, o, at, 0))
	require.Equal(t, 4*second/10, five.Retry(w, o, at, 1))
	w = ten.Convert(&five, w, o, at)
	require.Zero(t, Parity(w))
	require.Equal(t, int64(2), ten.Remaining(w, o, at))
}

func TestRateChange(t *testing.T) {
	slow := rate{tokens: 1, per: second, capacity: 10}.limit(t)
	fast := rate{tokens: 3_000_000, per: second, capacity: 10}.limit(t).WithParity(1)
	o, at := OriginOf(2), clock.Time(-99)
	w := mustTake(t, &slow, slow.Full(o, at), o, at, 8)
	at += clock.Time(second / 2) // 7.5 used
	w = fast.Convert(&slow, w, o, at)
	require.Equal(t, int64(2), fast.Remaining(w, o, at))
	require.Equal(t, int64(2500), fast.Used(w, o, at))
	require.Zero(t, big.NewRat(15, 2).Cmp(usedTokens(&fast, w, o, at)))
	w = slow.Convert(&fast, w, o, at+1000) // 4.5 used
	require.Equal(t, 4*second+second/2, slow.Used(w, o, at+1000))

	// A bucket that is full, or has long been, stays full.
	for _, later := range []clock.Time{0, 1, maxIdle} {
		w := fast.Convert(&slow, slow.Full(o, at), o, at+later)
		require.Zero(t, fast.Used(w, o, at+later))
		require.Equal(t, int64(10), fast.Remaining(w, o, at+later))
	}
}

// A limit that did not exist starts full, whatever its word held.
func TestConvertFromNothing(t *testing.T) {
	eachRate(t, func(t *testing.T, l *Limit, o Origin, start clock.Time) {
		for _, w := range []uint64{0, 1, 1<<64 - 1, 1 << 63, uint64(start)} {
			w := l.Convert(nil, w, o, start)
			require.Equal(t, l.Full(o, start), w)
		}
	})
}

// Over any chain of changes what is used stays used, rounded up by less than two
// units each time. Nothing is minted; a debt stays a debt, up to where it
// saturates.
func TestConvertKeepsWhatIsUsed(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 30_000 {
		l := randomLimit(rng)
		o, at := OriginOf(rng.Uint64()), clock.Time(rng.Int64()-1<<62)
		w := l.Charge(l.Full(o, at), o, at, rng.Int64N(1<<rng.IntN(62)))
		w -= min(uint64(used(w, l.pos(o, at))), 2*rng.Uint64N(1<<20)) // not whole tokens only
		for range 3 {
			m := randomLimit(rng)
			m = m.WithParity(l.Parity() ^ 1)
			checkConvert(t, &l, &m, w, o, at)
			l, w = m, m.Convert(&l, w, o, at)
		}
	}
}

// checkConvert asserts what a conversion of w from l to m must keep.
func checkConvert(t testing.TB, l, m *Limit, w uint64, o Origin, at clock.Time) {
	next := m.Convert(l, w, o, at)
	require.Equal(t, next, m.Convert(l, w, o, at), "a pure function")
	require.Equal(t, m.Parity(), Parity(next))
	before, after := usedTokens(l, w, o, at), usedTokens(m, next, o, at)
	require.LessOrEqual(t, used(next, m.pos(o, at)), int64(maxAhead))
	if used(next, m.pos(o, at)) == maxAhead {
		return // saturated
	}
	more := new(big.Rat).Sub(after, before)
	require.GreaterOrEqual(t, more.Sign(), 0, "%v used became %v", before, after)
	require.Negative(t, more.Cmp(big.NewRat(2, m.cost)), "%v used became %v", before, after)
	if l.unit == m.unit && l.cost == m.cost {
		require.Zero(t, more.Sign())
	}
}

// A debt so large that evening it out would carry past 64 bits.
func TestConvertDoesNotWrap(t *testing.T) {
	l := Limit{unit: 2, cost: 4, room: 40, tokens: 10}
	m := Limit{unit: 2, cost: 30, room: 300, tokens: 10, mark: 1}
	for less := range uint64(40) {
		u := (1<<64-1)/15*2 - 2*less // times 15/2: 2^64 − 1 at first
		require.Less(t, u, uint64(1<<62))
		w := m.Convert(&l, u, 0, 0)
		require.Equal(t, int64(maxAhead), used(w, m.pos(0, 0)), "%d used", u)
	}
}

// randomLimit returns a limit of any rate, also a rounded one.
func randomLimit(rng *rand.Rand) Limit {
	for {
		tokens := 1 + rng.Int64N(1<<rng.IntN(40))
		per := 1 + rng.Int64N(1<<rng.IntN(55))
		l, err := New(tokens, per, 1+rng.Int64N(1<<rng.IntN(50)))
		if err == nil {
			return l
		}
	}
}
