package bucket

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

func TestFullBucket(t *testing.T) {
	eachRate(t, func(t *testing.T, l *Limit, o Origin, start clock.Time) {
		w := l.Full(o, start)
		require.Equal(t, l.Parity(), Parity(w))
		for _, later := range []clock.Time{0, 1, 1000, maxIdle} {
			now := start + later
			require.True(t, l.IsFull(w, o, now))
			require.Zero(t, l.Used(w, o, now))
			require.Zero(t, l.AheadBefore(w, o, now, 0))
			require.Equal(t, l.Capacity(), l.Remaining(w, o, now))
			require.Zero(t, l.Retry(w, o, now, l.Capacity()))
			require.True(t, l.Fits(l.Capacity()))
			require.False(t, l.Fits(l.Capacity()+1))
			mustTake(t, l, w, o, now, 0)
			mustTake(t, l, w, o, now, l.Capacity())
		}
	})
}

func TestEmptyBucket(t *testing.T) {
	eachRate(t, func(t *testing.T, l *Limit, o Origin, start clock.Time) {
		w := mustTake(t, l, l.Full(o, start), o, start, l.Capacity())
		require.False(t, l.IsFull(w, o, start))
		require.Zero(t, l.Remaining(w, o, start))
		mustTake(t, l, w, o, start, 0)
		mustDeny(t, l, w, o, start, 1)

		// Full again after exactly what Used says.
		reset := clock.Time(l.Used(w, o, start))
		require.Equal(t, ceilDiv(l.room, l.unit), int64(reset))
		require.False(t, l.IsFull(w, o, start+reset-1))
		require.True(t, l.IsFull(w, o, start+reset))
		require.Less(t, l.Remaining(w, o, start+reset-1), l.Capacity())
		mustTake(t, l, w, o, start+reset, l.Capacity())
		mustDeny(t, l, w, o, start+reset-1, l.Capacity())
	})
}

// At what Retry says n tokens pass; one nanosecond earlier they do not.
func TestRetryIsExact(t *testing.T) {
	eachRate(t, func(t *testing.T, l *Limit, o Origin, start clock.Time) {
		c := l.Capacity()
		w := mustTake(t, l, l.Full(o, start), o, start, c)
		for _, n := range []int64{1, 2, 3, c / 2, c - 1, c} {
			if n < 1 || n > c {
				continue
			}
			for _, later := range []clock.Time{0, 1, 17} {
				retry := l.Retry(w, o, start+later, n)
				if retry == 0 {
					mustTake(t, l, w, o, start+later, n)
					continue
				}
				at := start + later + clock.Time(retry)
				mustTake(t, l, w, o, at, n)
				mustDeny(t, l, w, o, at-1, n)
				require.Zero(t, l.Retry(w, o, at, n))
				require.Equal(t, int64(1), l.Retry(w, o, at-1, n))
				require.GreaterOrEqual(t, l.Remaining(w, o, at), n)
				require.Less(t, l.Remaining(w, o, at-1), n)
			}
		}
	})
}

// Values worked out by hand.
func TestTable(t *testing.T) {
	type step struct {
		at        int64
		n         int64
		ok        bool
		remaining int64 // after
		used      int64 // after, ns
		retry     int64 // if denied
	}
	for _, c := range []struct {
		name                  string
		tokens, per, capacity int64
		steps                 []step
	}{
		{"1/d", 1, day, 2, []step{
			{0, 1, true, 1, day, 0},
			{0, 1, true, 0, 2 * day, 0},
			{1, 1, false, 0, 2*day - 1, day - 1},
			{day - 1, 1, false, 0, day + 1, 1},
			{day, 1, true, 0, 2 * day, 0},
			{3*day - 1, 2, false, 1, 1, 1},
			{3 * day, 2, true, 0, 2 * day, 0},
		}},
		{"100/h", 100, hour, 100, []step{
			{0, 100, true, 0, hour, 0},
			{36*second - 1, 1, false, 0, hour - 36*second + 1, 1},
			{36 * second, 1, true, 0, hour, 0},
			{36 * second, 3, false, 0, hour, 108 * second},
		}},
		{"7/s", 7, second, 7, []step{
			{0, 7, true, 0, second, 0},
			{0, 1, false, 0, second, 142_857_143}, // 1/7 s is no whole number of ns
			{142_857_142, 1, false, 0, 857_142_858, 1},
			{142_857_143, 1, true, 0, 1_000_000_000, 0}, // 999,999,999 and six sevenths
			{285_714_285, 1, false, 0, 857_142_858, 1},
			{285_714_286, 1, true, 0, 1_000_000_000, 0},
			{428_571_428, 1, false, 0, 857_142_858, 1},
			{428_571_429, 1, true, 0, 1_000_000_000, 0},
			{second - 1, 4, false, 3, 428_571_430, 1},
			{second, 4, true, 0, second, 0}, // no drift: exactly seven in this second
		}},
		{"700/min", 700, minute, 700, []step{
			{0, 700, true, 0, minute, 0},
			{85_714_285, 1, false, 0, minute - 85_714_285, 1},
			{85_714_286, 1, true, 0, minute, 0},
			{minute, 699, true, 0, minute, 0},
			{minute, 1, false, 0, minute, 85_714_286},
		}},
		{"3e6/s", 3_000_000, second, 50, []step{
			{0, 50, true, 0, 16_667, 0},
			{333, 1, false, 0, 16_334, 1},
			{334, 1, true, 0, 16_666, 0}, // 16,666 ns and no third
			{667, 1, true, 0, 16_667, 0},
			{1000, 1, true, 0, 16_667, 0},
			{17_666, 50, false, 49, 1, 1},
			{17_667, 50, true, 0, 16_667, 0},
		}},
		{"2e9/s", 2_000_000_000, second, 10, []step{
			{0, 10, true, 0, 5, 0},
			{0, 1, false, 0, 5, 1},
			{1, 1, true, 1, 5, 0},
			{1, 2, false, 1, 5, 1},
			{2, 3, true, 0, 5, 0},
		}},
		{"5/60s", 5, 60 * second, 5, []step{
			{0, 5, true, 0, 60 * second, 0},
			{12*second - 1, 1, false, 0, 48*second + 1, 1},
			{12 * second, 1, true, 0, 60 * second, 0},
			{11 * second, 1, false, 0, 61 * second, 13 * second}, // stale: no less is used
		}},
		// Idle earns no more than the capacity.
		{"5/s", 5, second, 5, []step{
			{0, 5, true, 0, second, 0},
			{0, 1, false, 0, second, second / 5},
			{2 * second, 5, true, 0, second, 0},
			{2 * second, 1, false, 0, second, second / 5},
			{2 * second, 1, false, 0, second, second / 5},
		}},
		{"1/s asked early", 1, second, 1, []step{
			{0, 1, true, 0, second, 0},
			{3 * second / 4, 1, false, 0, second / 4, second / 4},
			{second, 1, true, 0, second, 0},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := rate{tokens: c.tokens, per: c.per, capacity: c.capacity}.limit(t)
			o := OriginOf(3)
			w := l.Full(o, 0)
			for i, s := range c.steps {
				now := clock.Time(s.at)
				next, ok := l.Take(w, o, now, s.n)
				require.Equal(t, s.ok, ok, "step %d", i)
				require.Equal(t, s.retry, l.Retry(w, o, now, s.n), "step %d", i)
				if ok {
					w = next
				}
				require.Equal(t, s.remaining, l.Remaining(w, o, now), "step %d", i)
				require.Equal(t, s.used, l.Used(w, o, now), "step %d", i)
			}
		})
	}
}

// 200 callers, every other one with a time that is a second old: 10 pass.
func TestStaleTimeMintsNothing(t *testing.T) {
	l := rate{tokens: 10, per: second, capacity: 10}.limit(t)
	w, passed := l.Full(0, 0), 0
	for i := range 200 {
		now := clock.Time(second * int64(1-i%2))
		if next, ok := l.Take(w, 0, now, 1); ok {
			w, passed = next, passed+1
		}
	}
	require.Equal(t, 10, passed)
}

func TestCapacityExtremes(t *testing.T) {
	t.Run("2^53+1 at 1e9/s", func(t *testing.T) {
		l := rate{tokens: 1_000_000_000, per: second, capacity: 1<<53 + 1}.limit(t)
		w := mustTake(t, &l, l.Full(0, 5), 0, 5, 1<<53-5)
		for range 6 {
			w = mustTake(t, &l, w, 0, 5, 1)
		}
		mustDeny(t, &l, w, 0, 5, 1)
		require.Equal(t, int64(1), l.Retry(w, 0, 5, 1))
	})
	t.Run("1e6/s after 12 h", func(t *testing.T) {
		l := rate{tokens: 1_000_000, per: second, capacity: 1_000_000}.limit(t)
		w := mustTake(t, &l, l.Full(0, 0), 0, 0, 1_000_000)
		at := clock.Time(12 * hour)
		require.Equal(t, int64(1_000_000), l.Remaining(w, 0, at))
		w = mustTake(t, &l, w, 0, at, 1_000_000)
		mustDeny(t, &l, w, 0, at, 1)
	})
	t.Run("a year of refill", func(t *testing.T) {
		for _, r := range []rate{
			{tokens: 2_000_000_000, per: second, capacity: 2 * year},
			{tokens: 1, per: day, capacity: 365},
			{tokens: 1, per: year, capacity: 1},
			{tokens: 63, per: 32, capacity: year / 32 * 63},
			{tokens: 63, per: second, capacity: 63 * year / second},
		} {
			l := r.limit(t)
			w := mustTake(t, &l, l.Full(0, 0), 0, 0, r.capacity)
			require.Equal(t, year, l.Used(w, 0, 0), "%v", r)
			mustDeny(t, &l, w, 0, 0, 1)
			mustTake(t, &l, w, 0, clock.Time(year), r.capacity)
			mustDeny(t, &l, w, 0, clock.Time(year-1), r.capacity)
			_, err := New(r.tokens, r.per, r.capacity+1)
			require.ErrorIs(t, err, ErrCapacity, "%v", r)
		}
	})
}
