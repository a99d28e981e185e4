package redisync

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

func TestLatencyBins(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 100, 1023, 1024, 1e6, 1e9, 1e15, math.MaxInt64} {
		i := bin(d)
		require.GreaterOrEqual(t, top(i), d)
		require.LessOrEqual(t, float64(top(i)), float64(d)*1.25+1)
		if i > 0 {
			require.Less(t, top(i-1), d)
		}
	}
	require.Zero(t, bin(-1))
}

func TestLatencyQuantiles(t *testing.T) {
	var h latency
	require.Zero(t, h.quantile(.5))
	for i := range 1000 {
		h.add(time.Duration(i+1) * time.Microsecond)
	}
	require.InEpsilon(t, 500*time.Microsecond, h.quantile(.5), .25)
	require.InEpsilon(t, 990*time.Microsecond, h.quantile(.99), .25)
	for range 20 * latencyFull {
		h.add(time.Second)
	}
	require.InEpsilon(t, time.Second, h.quantile(.01), .25, "the past fades")
}

func TestThrottle(t *testing.T) {
	h := newThrottle(1000, time.Millisecond, 0)
	require.EqualValues(t, 2*chunk, h.left)
	h.left = 0
	sum, now := int64(0), clock.Time(0)
	for range 3000 {
		now = now.Add(333 * time.Microsecond)
		h.advance(now)
		sum += h.left
		h.left = 0
	}
	require.InDelta(t, 999, sum, 1)
	h.advance(now.Add(time.Hour))
	require.EqualValues(t, 2*chunk, h.left, "nothing is saved up")
}

func TestLaneGoesDownAndComesBack(t *testing.T) {
	l := lane{window: 8}
	require.False(t, l.failed(5, 10, .5))
	require.False(t, l.failed(6, 11, .5))
	require.False(t, l.probe(11))
	require.True(t, l.failed(7, 12, .5))
	require.Equal(t, clock.Time(5), l.since)
	require.False(t, l.probe(12), "not at once")
	require.True(t, l.probe(12+clock.Time(backoffBase/2)))
	l.probing = true
	require.False(t, l.probe(clock.Time(time.Hour)), "one at a time")
	require.False(t, l.failed(20, 30, 1), "it was down")
	require.Equal(t, clock.Time(30).Add(2*backoffBase), l.next)
	require.True(t, l.answered(4))
	require.Equal(t, 1, l.window)
	for range 9 {
		require.False(t, l.answered(4))
	}
	require.Equal(t, 4, l.window)
	for tries := range 300 {
		require.LessOrEqual(t, backoff(tries, 1), backoffMost)
	}
	require.Equal(t, 100*time.Millisecond, (&lane{tries: 1}).timeout(time.Millisecond, time.Second))
	require.Equal(t, 500*time.Millisecond, (&lane{tries: 200}).timeout(time.Second, 500*time.Millisecond))
}

func TestQueueIsOrderedByUrgency(t *testing.T) {
	require.Equal(t, 0, class(0, 16))
	require.Equal(t, urgent-1, class(7, 16))
	require.Equal(t, urgent, class(8, 16), "half")
	require.Equal(t, classes-1, class(15, 16))
	require.Equal(t, classes-1, class(100, 1))
	var q queue
	low, high, later := &record{}, &record{}, &record{}
	q[1].push(low)
	q[6].push(high)
	q[6].push(later)
	require.Equal(t, 3, q.len())
	require.Same(t, high, q.pop(urgent))
	require.Same(t, later, q.pop(urgent))
	require.Nil(t, q.pop(urgent))
	require.Same(t, low, q.pop(0))
	require.Zero(t, q.len())
	q[0].push(low)
	q[5].push(low) // moves
	require.Equal(t, 1, q.len())
	require.Nil(t, low.prev)
}

func TestShareRefillsItsPart(t *testing.T) {
	p, err := PolicyOf(7, time.Second, 100, 0)
	require.NoError(t, err)
	s := newShare(0, 0, p.C, 3, 0)
	require.EqualValues(t, p.C/3, s.most)
	now := clock.Time(0)
	for range 10_000 {
		now = now.Add(123456 * time.Nanosecond)
		s.advance(&p, 3, now)
	}
	require.InDelta(t, 7*1.23456/3*Unit, s.level, 1, "nothing is lost in the steps")
	s.advance(&p, 3, now.Add(time.Hour))
	require.Equal(t, s.most, s.level)
	s.advance(&p, 10, now.Add(time.Hour+time.Microsecond))
	require.EqualValues(t, p.C/10, s.level, "there are more nodes now")
	tiny := newShare(5*Unit, 0, Unit, 8, 0)
	require.EqualValues(t, Unit, tiny.most, "a token, or nobody would have any")
}

func TestShareCountsTheCreditIn(t *testing.T) {
	p, err := PolicyOf(1, time.Hour, 100, 0)
	require.NoError(t, err)
	s := newShare(40*Unit, 6, p.C, 2, 0) // a share of 20, and 6 of the credit of 10 used before
	used := int64(0)
	pending := int64(6)
	for range 20 {
		s.see(pending)
		n := s.room(pending, 10)
		s.grant(n)
		pending -= n
		used += 10 - pending
		pending = 10
	}
	require.EqualValues(t, 20, used)
	require.EqualValues(t, 20, s.charge(), "and the six are owed by now")
	require.EqualValues(t, 0, s.room(10, 10))
}
