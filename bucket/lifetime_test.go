package bucket

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// Ten years without drift: whoever takes all there is whenever it looks has
// taken floor(C + rate·t) tokens at any time t, to the token.
func TestTenYearsWithoutDrift(t *testing.T) {
	const longest = 30 * day // between two looks
	for _, r := range []rate{
		{tokens: 1, per: day, capacity: 31},
		{tokens: 100, per: hour, capacity: 100 * 24 * 30},
		{tokens: 7, per: second, capacity: 7 * 86400 * 30},
		{tokens: 63, per: second, capacity: 63 * 86400 * 30},
		{tokens: 700, per: minute, capacity: 700 * 1440 * 30},
		{tokens: 5, per: 60 * second, capacity: 5 * 1440 * 30},
		{tokens: 3_000_000, per: second, capacity: 3_000_000 * 86400 * 30},
		{tokens: 1_000_000_000, per: second, capacity: longest},
		{tokens: 2_000_000_000, per: second, capacity: 2 * longest},
		{tokens: 997, per: second, capacity: 997 * 86400 * 30},             // rounded
		{tokens: 123_457, per: second, capacity: 123_457 * 86400 * 30},     // rounded
		{tokens: 987_654_321, per: second, capacity: 987_654_321 * 2592e3}, // rounded
	} {
		t.Run(r.String(), func(t *testing.T) {
			l := r.limit(t)
			q, c := l.Rate()
			rng := rand.New(rand.NewPCG(5, uint64(r.tokens)))
			o, start := OriginOf(9), clock.Time(-3*year) // over zero, too
			w := l.Full(o, start)
			taken, now, looks := int64(0), start, 0
			for now < start+clock.Time(10*year) {
				left := l.Remaining(w, o, now)
				mustDeny(t, &l, w, o, now, min(left+1, l.Capacity()+1))
				w = mustTake(t, &l, w, o, now, left)
				taken += left
				looks++

				due := new(big.Int).Mul(big.NewInt(int64(now-start)), big.NewInt(q))
				due.Quo(due, big.NewInt(c))
				require.Equal(t, due.Int64()+r.capacity, taken, "after %d ns", now-start)
				now += clock.Time(min(1+rng.Int64N(1<<(10+rng.IntN(42))), longest))
			}
			require.Greater(t, looks, 1000)
		})
	}
}

// A word that was full stays full as long as it is re-based in time.
func TestIdle(t *testing.T) {
	eachRate(t, func(t *testing.T, l *Limit, o Origin, start clock.Time) {
		for _, idle := range []clock.Time{0, 1, maxIdle - 1, maxIdle} {
			w := mustTake(t, l, l.Full(o, start), o, start, 1)
			now := start + idle
			want := max(0, l.cost-int64(min(uint64(idle), uint64(year))*l.unit))
			require.Equal(t, ceilDiv(want, l.unit), l.Used(w, o, now), "idle %d", idle)
			require.Equal(t, l.Used(w, o, now), l.Used(l.Rebase(w, o, start, now), o, now))
		}
		for _, idle := range []uint64{maxIdle + 1, 10 * uint64(year), 1 << 62, 1<<63 + 5, 1<<64 - 1<<20} {
			w := mustTake(t, l, l.Full(o, start), o, start, l.Capacity())
			now := clock.Time(uint64(start) + idle)
			w = l.Rebase(w, o, start, now)
			want := int64(0)
			if full := ceilDiv(l.room, l.unit); idle < uint64(full) {
				want = full - int64(idle)
			}
			require.Equal(t, want, l.Used(w, o, now), "idle %d", idle)
			require.Equal(t, l.Parity(), Parity(w))
		}
	})
}

// A key that is looked at every hundred days is never idle for maxIdle, and
// nothing writes its word. It must be re-based all the same: its slot does so
// whenever its time enters another stretch of maxIdle.
func TestLookedAtForYears(t *testing.T) {
	for _, r := range rates {
		l := r.limit(t)
		k := newSlot(l, OriginOf(4), 0)
		_, ok := k.take(0, 1)
		require.True(t, ok)
		for n := range int64(200) {
			now := clock.Time(n * 100 * day)
			at, late := k.touch(now)
			require.Equal(t, now, at)
			require.Zero(t, late)
			left := ceilDiv(max(0, l.cost-min(int64(at), year)*int64(l.unit)), l.unit)
			require.Equal(t, left, l.Used(k.w, k.o, at), "%v after %d days", r, 100*n)
		}
	}
}
