package latency

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

const us = time.Microsecond

func TestClosedLoopTimesEachCall(t *testing.T) {
	c := newStepping(20)
	p := c.costs(100, 300)
	h := newHistogram()
	l := loop{clock: c}
	got := l.run(job{call: p.call, want: 1}, us, h)
	// 140 and 340 from reading to reading with the one before: after the fifth call
	// a microsecond has passed.
	require.Equal(t, tally{calls: 5}, got)
	require.EqualValues(t, 5, h.calls())
	require.EqualValues(t, 120, h.quantile(0.6))
	require.EqualValues(t, 320, h.quantile(0.8))
	require.EqualValues(t, 320, h.max)
}

func TestClosedLoopStopsAtItsSupply(t *testing.T) {
	c := newStepping(20)
	next := 0
	l := loop{clock: c}
	got := l.run(job{call: c.costs(100).call, want: 0, most: 3, next: func() { next++ }}, time.Second, newHistogram())
	require.Equal(t, tally{calls: 3, wrong: 3}, got)
	require.Equal(t, 3, next)
}

// TestPacedLoopCountsFromWhenCallsWereDue: one stall of 10 us makes all the calls
// late that were due meanwhile, which a closed loop would count as one.
func TestPacedLoopCountsFromWhenCallsWereDue(t *testing.T) {
	c := newStepping(10)
	first := true
	p := c.costs(0)
	stall := func(call call) call {
		return func(now clock.Time) int {
			if first {
				first = false
				c.Advance(10 * us)
			}
			return call(now)
		}
	}
	h := newHistogram()
	l := loop{clock: c, rate: 1e6}
	got := l.run(job{call: stall(p.call), want: 1}, 20*us, h)
	require.Equal(t, int64(20), got.calls)
	require.Zero(t, got.waiting)
	require.InDelta(t, 10, got.late, 1)
	require.GreaterOrEqual(t, h.max, int64(10*us))
	// Their times go down by what passes between two of the timetable.
	require.Greater(t, h.quantile(0.75), int64(4*us), "the middle of those that were held up")
	require.Less(t, h.quantile(0.4), int64(us))

	first = true
	closed := newHistogram()
	l.rate = 0
	l.run(job{call: stall(p.call), want: 1}, 20*us, closed)
	require.Less(t, closed.quantile(0.99), int64(us), "the closed loop counts one slow call of hundreds")
}

// TestPacedLoopGoesOnUntilNobodyWaits: a stall longer than the timetable holds up
// the calls after its end as well.
func TestPacedLoopGoesOnUntilNobodyWaits(t *testing.T) {
	c := newStepping(10)
	p := c.costs(50*us, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	h := newHistogram()
	l := loop{clock: c, rate: 1e6}
	got := l.run(job{call: p.call, want: 1}, 10*us, h)
	require.Greater(t, got.calls, int64(50), "ten are planned, and some fifty were due before it was over")
	require.Zero(t, got.waiting)
}

// TestPacedLoopGivesUp: what cannot catch up is stopped, and all who wait count.
func TestPacedLoopGivesUp(t *testing.T) {
	c := newStepping(10)
	p := c.costs(time.Millisecond) // a thousand a second
	h := newHistogram()
	l := loop{clock: c, rate: 2000}
	got := l.run(job{call: p.call, want: 1}, 100*time.Millisecond, h)
	require.InDelta(t, 2100, got.calls, 2)
	require.InDelta(t, 2100, got.waiting, 2)
	require.EqualValues(t, h.calls(), got.calls+got.waiting)
	require.Less(t, h.max, int64(2*time.Second))
}

func TestPacedLoopCountsWhoWaitsWhenTheSupplyIsGone(t *testing.T) {
	c := newStepping(10)
	l := loop{clock: c, rate: 1e6}
	got := l.run(job{call: c.costs(5 * us).call, want: 1, most: 3}, time.Millisecond, newHistogram())
	require.EqualValues(t, 3, got.calls)
	require.InDelta(t, 13, got.waiting, 1) // 15 us, of which three were served
}

func TestHistogram(t *testing.T) {
	h := newHistogram()
	h.record(-5)
	require.Zero(t, h.max)
	for i := range int64(999) {
		h.record(i)
	}
	require.True(t, h.backs(0.99))
	require.False(t, h.backs(0.999))
	require.InDelta(t, 498, h.quantile(0.5), 1)
	h.record(2 * longest)
	require.Equal(t, 2*longest, h.max, "the longest is kept as it was")
	h.reset()
	require.Zero(t, h.calls())
	require.Zero(t, h.max)
}
