package tickgate_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// exactRates are rates with a small fraction, from the slowest to the fastest:
// nothing of them is rounded.
var exactRates = []policy.Limit{
	{Tokens: 1, Per: policy.Day, Burst: 3},
	{Tokens: 5, Per: time.Minute, Burst: 1},
	{Tokens: 100, Per: time.Hour},
	{Tokens: 7, Per: time.Second},
	{Tokens: 700, Per: time.Minute, Burst: 11},
	{Tokens: 10, Per: time.Second, Burst: 20},
	{Tokens: 100, Per: time.Second},
	{Tokens: 61, Per: time.Second, Burst: 5},
	{Tokens: 50_000, Per: time.Second, Burst: 100},
	{Tokens: 1_000_000, Per: time.Second, Burst: 10},
	{Tokens: 3_000_000, Per: time.Second, Burst: 17},
	{Tokens: 63, Per: 64 * time.Nanosecond, Burst: 9},
	{Tokens: 1_000_000_000, Per: time.Second, Burst: 64},
	{Tokens: 2_000_000_000, Per: time.Second, Burst: 2},
}

// randomRate is any rate that a policy may have.
func randomRate(r *rand.Rand) policy.Limit {
	for {
		l := policy.Limit{
			Tokens: 1 + r.Int64N(1<<(1+r.IntN(31))),
			Per:    time.Duration(1 + r.Int64N(1<<(1+r.IntN(46)))),
			Burst:  1 + r.Int64N(1<<(1+r.IntN(10))),
		}
		if l.Validate() == nil {
			return l
		}
	}
}

// arrive asks for tokens at times that run forward, mostly too often, through the
// gate and through a handle, and holds what passes against the bound.
func arrive(t *testing.T, r *rand.Rand, l policy.Limit, calls int) {
	set := policy.Set{{Endpoint: endpoint, Limits: []policy.Limit{l}}}
	g, c := gateWith(t, tickgate.Config{MaxKeys: 4}, set)
	h := handleOf(t, g, "h")
	perToken := int64(l.Per)/l.Tokens + 1
	now := c.Now()
	keyed, handled := newLedger(l), newLedger(l)
	passed := 0
	for range calls {
		switch r.IntN(8) {
		case 0:
			now += clock.Time(r.Int64N(4*perToken + 1))
		case 1:
			now += clock.Time(r.Int64N(perToken*l.Capacity() + 1))
		case 2:
			now++
		}
		c.Set(now)
		n := 1 + r.Int64N(min(l.Capacity(), 3))
		if g.TakeAt(now, "k", endpoint, n).Allowed {
			require.NoError(t, keyed.admit(now, n))
			passed++
		}
		if h.AllowAt(now, n) {
			require.NoError(t, handled.admit(now, n))
			passed++
		}
	}
	require.Positive(t, passed)
}

func TestG1BoundExactRates(t *testing.T) {
	for i, l := range exactRates {
		t.Run(l.String(), func(t *testing.T) {
			arrive(t, rand.New(rand.NewPCG(1, uint64(i))), l, 4000)
		})
	}
}

func TestG1BoundRandomRates(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for range scaled(300, 40) {
		arrive(t, r, randomRate(r), 300)
	}
}

// Random calls on many keys, late ones, refunds, pins and evictions among them.
func TestG1BoundRefundsIncluded(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	for round := range scaled(400, 60) {
		s := newScript(t, fuzzLimits[round%len(fuzzLimits)], 4+r.IntN(8), 0)
		ops := make([]byte, 1200)
		for i := range ops {
			ops[i] = byte(r.Uint32())
		}
		play(s, ops)
		if s.gate.Stats().Evictions.Forced == 0 {
			s.check()
		}
	}
}

// The trap of giving back: A takes, a token's time passes, X takes what has come
// back, then A gives back. The bucket must not hold C again.
func TestG1BoundRefundAfterRefill(t *testing.T) {
	for _, wait := range []time.Duration{0, 1, 50 * time.Millisecond, 99 * time.Millisecond, 100 * time.Millisecond, time.Second} {
		g, c := gateOf(t, tickgate.Config{}, "10/s")
		h := handleOf(t, g, "k")
		a := h.Take(1)
		c.Advance(wait)
		require.True(t, h.Allow())
		h.Refund(a)
		// Without a's take the one of X alone is used.
		require.Equal(t, 9, drain(h.Allow), "after %v", wait)
	}
}

// Takes whose times are ahead of the gate's clock tell the key so: what time refilled
// between them is not given back.
func TestG1BoundRefundOfTimesAheadOfTheClock(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/100us")
	h := handleOf(t, g, "desk")
	start := c.Now()
	h.TakeAt(start, 1)
	a := h.TakeAt(start+20_000, 1) // all is full again, and the clock has not moved
	require.True(t, a.Allowed)
	require.True(t, h.TakeAt(start+30_000, 1).Allowed) // for which time paid
	h.Refund(a)
	admitted := 1
	for h.AllowAt(start+30_000, 1) {
		admitted++
	}
	require.Equal(t, 10, admitted, "of a bucket of 10")
}

// Two refunds in a row must not each count the same stretch of time.
func TestG1BoundTwoRefundsOfOneStretch(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/s")
	h := handleOf(t, g, "k")
	a, b := h.Take(1), h.Take(1)
	require.Equal(t, 8, drain(h.Allow))
	c.Advance(100 * time.Millisecond)
	require.True(t, h.Allow())
	h.Refund(a)
	h.Refund(b)
	// 8 were used at the start and 1 after a token's time: at most 2 are free.
	require.LessOrEqual(t, drain(h.Allow), 2)
}

// A limit that came into force after a take was never charged by it, so the
// refund must not give tokens back there.
func TestG1BoundRefundLeavesLaterLimitsAlone(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "10/s name=a")
	h := handleOf(t, g, "k")
	d := h.Take(1)
	require.True(t, d.Allowed)
	require.NoError(t, g.Apply(setOf(t, "10/s name=a", "5/s name=b")))
	require.Equal(t, 5, drain(h.Allow))
	h.Refund(d)
	require.False(t, h.Allow(), "limit b admitted 6 of 5 at once")
}

// The same where the limit went and came back under its name.
func TestG1BoundRefundLeavesReturnedLimitAlone(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "10/s name=a", "5/s name=b")
	h := handleOf(t, g, "k")
	d := h.Take(1)
	require.True(t, d.Allowed)
	require.NoError(t, g.Apply(setOf(t, "10/s name=a")))
	require.NoError(t, g.Apply(setOf(t, "10/s name=a", "5/s name=b")))
	require.Equal(t, 5, drain(h.Allow))
	h.Refund(d)
	require.False(t, h.Allow(), "limit b admitted 6 of 5 at once")
}

// How much less than asked a rate that has no small fraction admits.
func TestG1BoundRoundedRates(t *testing.T) {
	for _, c := range []struct {
		perSecond int64
		ppm       float64
	}{{997, 1}, {19_997, 1}, {99_991, 50}, {999_983, 50}, {99_999_989, 50_000}, {999_999_937, 50_000}} {
		t.Run(fmt.Sprint(c.perSecond), func(t *testing.T) {
			l := policy.Limit{Tokens: c.perSecond, Per: time.Second, Burst: 3 * c.perSecond}
			g, clk := gateWith(t, tickgate.Config{}, policy.Set{{Endpoint: endpoint, Limits: []policy.Limit{l}}})
			require.True(t, g.AllowN("k", endpoint, l.Burst))
			clk.Advance(2 * time.Second)
			got, want := left(g, "k"), 2*c.perSecond
			require.LessOrEqual(t, got, want)
			require.GreaterOrEqual(t, float64(got)+1, float64(want)*(1-c.ppm/1e6))
		})
	}
}

// scaled is how often to repeat: less with -short and under the race detector.
func scaled(long, short int) int {
	if testing.Short() || raceEnabled {
		return short
	}
	return long
}

// A gift and a take in turn can leave a word as another take left it. That word
// must not be taken for proof that nobody took since.
func TestG1BoundRefundAfterGiftAndTake(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "1/s burst=10")
	h := handleOf(t, g, "k")
	require.True(t, h.Take(4).Allowed)
	z, a := h.Take(2), h.Take(2)
	c.Advance(time.Second)
	h.Refund(z)
	c.Advance(4 * time.Second)
	require.True(t, h.Take(2).Allowed) // the word is now as a left it
	h.Refund(a)
	require.Equal(t, int64(8), h.Take(0).Remaining, "10 + 5 refilled were 8 + 2 + 2 used, of which 2 + 1 came back")
}
