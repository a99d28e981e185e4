package bucket

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

func TestCharge(t *testing.T) {
	l := rate{tokens: 10, per: second, capacity: 20}.limit(t)
	w := l.Charge(l.Full(0, 0), 0, 0, 15)
	require.Equal(t, int64(5), l.Remaining(w, 0, 0))
	w = l.Charge(w, 0, 0, 0)
	require.Equal(t, int64(5), l.Remaining(w, 0, 0))

	w = l.Charge(w, 0, 0, 15) // 10 more than there are
	require.Zero(t, l.Remaining(w, 0, 0))
	require.Equal(t, 3*second, l.Used(w, 0, 0))
	require.Equal(t, second, l.Retry(w, 0, 0, 0), "in debt not even nothing passes")
	mustDeny(t, &l, w, 0, 0, 0)
	require.Equal(t, second+second/10, l.Retry(w, 0, 0, 1))
	mustDeny(t, &l, w, 0, clock.Time(second+second/10-1), 1)
	mustTake(t, &l, w, 0, clock.Time(second+second/10), 1)
}

// Debt never wraps into a full bucket, and is at least a year of refill.
func TestDebtSaturates(t *testing.T) {
	eachRate(t, func(t *testing.T, l *Limit, o Origin, start clock.Time) {
		for _, n := range []int64{math.MaxInt64, math.MaxInt64 - 1, 1 << 62, 1<<62 + 1, 1 << 61, maxAhead / l.cost, maxAhead/l.cost + 1} {
			w := l.Full(o, start)
			before := new(big.Rat)
			for range 5 {
				w = l.Charge(w, o, start, n)
				owed := usedTokens(l, w, o, start)
				require.GreaterOrEqual(t, owed.Cmp(before), 0, "charge of %d", n)
				before = owed
				require.LessOrEqual(t, used(w, l.pos(o, start)), int64(maxAhead))
			}
			if n > l.Capacity() {
				require.Zero(t, l.Remaining(w, o, start))
				mustDeny(t, l, w, o, start, 0)
			}
			require.Greater(t, l.Used(w, o, start), year, "five charges of %d", n)

			// It is paid off by time as any other, and not before.
			all := clock.Time(l.Used(w, o, start))
			require.True(t, l.IsFull(l.Rebase(w, o, start, start+all), o, start+all))
			require.False(t, l.IsFull(l.Rebase(w, o, start, start+all-1), o, start+all-1))
		}
	})
}

func TestCredit(t *testing.T) {
	eachRate(t, func(t *testing.T, l *Limit, o Origin, start clock.Time) {
		w := mustTake(t, l, l.Full(o, start), o, start, l.Capacity())
		back, given := l.Credit(w, o, start, 1)
		require.Equal(t, int64(1), l.Remaining(back, o, start))
		require.Equal(t, ceilDiv(l.cost, l.unit), given)
		require.Equal(t, l.Parity(), Parity(back))

		same, given := l.Credit(w, o, start, 0)
		require.Equal(t, w, same)
		require.Zero(t, given)

		for _, n := range []int64{l.Capacity(), l.Capacity() + 1, 1 << 62, math.MaxInt64} {
			back, given = l.Credit(w, o, start, n)
			require.Equal(t, l.Full(o, start), back, "no fuller than full")
			require.Equal(t, ceilDiv(l.room, l.unit), given)
			back, given = l.Credit(back, o, start, n)
			require.Equal(t, l.Full(o, start), back)
			require.Zero(t, given)
		}
		// A bucket that has long been full gets nothing.
		later := start + maxIdle
		back, given = l.Credit(l.Full(o, start), o, later, math.MaxInt64)
		require.Equal(t, l.Full(o, start), back)
		require.Zero(t, given)
	})
}
