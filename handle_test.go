package tickgate_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

func TestHandleZero(t *testing.T) {
	var h tickgate.Handle
	require.False(t, h.Allow())
	require.False(t, h.AllowAt(0, 1))
	require.False(t, h.AllowAt(0, 0))
	require.Equal(t, tickgate.BadRequest, h.Take(1).Reason)
	require.Equal(t, tickgate.BadRequest, h.TakeAt(0, 1).Reason)
	h.Refund(tickgate.Decision{Allowed: true})
	h.Charge(1)
	h.Credit(1)
	h.Release()
}

// A handle and the names it was made of are one key.
func TestHandleSharesTheKey(t *testing.T) {
	g, _ := gateWith(t, tickgate.Config{}, policy.Set{policyOf(t, endpoint, "10/h"), policyOf(t, policy.DefaultEndpoint, "10/h")})
	for _, e := range []string{endpoint, policy.DefaultEndpoint, "unlisted"} {
		h, err := g.Handle("k", e)
		require.NoError(t, err)
		again, err := g.Handle("k", e)
		require.NoError(t, err)
		require.True(t, h.Allow())
		require.True(t, again.Allow())
		require.True(t, g.Allow("k", e))
		require.Equal(t, int64(7), h.Take(0).Remaining)
		require.Equal(t, int64(7), again.Take(0).Remaining)
		require.Equal(t, int64(7), g.Take("k", e, 0).Remaining)
	}
}

func TestHandleRelease(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{MaxKeys: 1}, "10/h")
	h := handleOf(t, g, "k")
	again := handleOf(t, g, "k")
	copied := h
	d := h.Take(4)
	bad := g.Stats().BadRequests

	h.Release()
	h.Release()
	copied.Release()
	for _, h := range []tickgate.Handle{h, copied} {
		require.False(t, h.Allow())
		require.False(t, h.AllowAt(0, 1))
		require.Equal(t, shown{false, tickgate.BadRequest, "", 0, tickgate.Never, 0}, show(h.Take(1)))
		h.Refund(d)
		h.Charge(5)
		h.Credit(5)
	}
	require.Equal(t, bad+6, g.Stats().BadRequests)
	require.Equal(t, int64(6), again.Take(0).Remaining, "a released handle did something")
	require.Equal(t, tickgate.Full, g.Take("other", endpoint, 1).Reason, "released twice, it took the other handle's pin")

	again.Release()
	require.True(t, g.Allow("other", endpoint))
	require.False(t, h.Allow(), "the slot is another key's now")
	require.Equal(t, int64(9), left(g, "other"))
}

func TestHandleNegative(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "10/h")
	h := handleOf(t, g, "k")
	require.False(t, h.AllowAt(0, -1))
	require.Equal(t, tickgate.BadRequest, h.Take(math.MinInt64).Reason)
	h.Charge(-1)
	h.Credit(-5)
	require.Equal(t, uint64(4), g.Stats().BadRequests)
	require.Equal(t, int64(10), h.Take(0).Remaining)
}

func TestHandleRefund(t *testing.T) {
	for _, limits := range [][]string{{"10/h"}, {"10/h name=a", "20/h name=b"}} {
		g, _ := gateOf(t, tickgate.Config{}, limits...)
		h := handleOf(t, g, "k")
		a, b, c := h.Take(2), h.Take(3), h.Take(4)
		require.Equal(t, int64(1), left(g, "k"))
		h.Refund(b) // not the last
		require.Equal(t, int64(4), left(g, "k"))
		h.Refund(c)
		h.Refund(a)
		require.Equal(t, int64(10), left(g, "k"))
		h.Refund(g.Take("k", endpoint, 5))
		require.Equal(t, int64(10), left(g, "k"), "a decision by name is one of this key too")
	}
}

// Nothing is given back for what took nothing, or not from this key.
func TestHandleRefundOfNothing(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/h")
	h, other := handleOf(t, g, "k"), handleOf(t, g, "other")
	require.True(t, h.AllowAt(c.Now(), 8))
	foreign := other.Take(2)
	require.True(t, foreign.Allowed)

	h.Refund(tickgate.Decision{})
	h.Refund(tickgate.Decision{Allowed: true, Remaining: 5})
	h.Refund(h.Take(3))  // denied
	h.Refund(h.Take(11)) // too costly
	h.Refund(h.Take(-1))
	h.Refund(h.Take(0))
	h.Refund(foreign)
	require.Equal(t, int64(2), left(g, "k"))
	require.Equal(t, int64(8), left(g, "other"))
}

// A decision on a key that was evicted since is one of another key, be it the
// same apikey in the same slot.
func TestHandleRefundAfterEviction(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{MaxKeys: 1}, "10/s")
	h := handleOf(t, g, "k")
	d := h.Take(5)
	h.Release()
	c.Advance(time.Second)
	require.True(t, g.Allow("other", endpoint)) // k goes
	c.Advance(time.Second)
	h = handleOf(t, g, "k")
	require.True(t, h.AllowAt(c.Now(), 8))
	h.Refund(d)
	require.Equal(t, int64(2), left(g, "k"))
}

// A refund of one rate's tokens under another one gives back no more tokens.
func TestHandleRefundAfterChange(t *testing.T) {
	for _, to := range []string{"1/h burst=10 name=a", "2000000000/s burst=10 name=a", "97/s burst=10 name=a", "10/h burst=5 name=a", "10/h burst=20 name=a"} {
		g, _ := gateOf(t, tickgate.Config{}, "10/h name=a")
		h := handleOf(t, g, "k")
		d := h.Take(4)
		require.True(t, h.AllowAt(0, 6))
		require.NoError(t, g.Apply(setOf(t, to)))
		before := left(g, "k")
		h.Refund(d)
		require.LessOrEqual(t, left(g, "k"), before+4, to)
		require.NoError(t, g.Apply(setOf(t, "10/h name=a")))
		require.LessOrEqual(t, left(g, "k"), int64(4), to)
	}
}

func TestHandleChargeIntoDebt(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/s", "1000/s name=b")
	h := handleOf(t, g, "k")
	h.Charge(0)
	require.Equal(t, int64(10), left(g, "k"))
	h.Charge(25)
	d := h.Take(1)
	require.Equal(t, shown{false, tickgate.Limited, "10/s", 0, 1600 * time.Millisecond, 2500 * time.Millisecond}, show(d))
	c.Advance(1600*time.Millisecond - 1)
	require.False(t, h.Allow())
	c.Advance(1)
	require.True(t, h.Allow())
}

func TestHandleCredit(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/h")
	h := handleOf(t, g, "k")
	h.Credit(5)
	require.Equal(t, int64(10), left(g, "k"), "below nothing used")
	require.True(t, h.AllowAt(c.Now(), 8))
	h.Credit(3)
	require.Equal(t, int64(5), left(g, "k"))
	h.Credit(math.MaxInt64)
	require.Equal(t, int64(10), left(g, "k"))
	require.Equal(t, 10, drain(h.Allow))

	h.Charge(20)
	h.Credit(15)
	require.False(t, h.Allow(), "still 5 owed")
	h.Credit(6)
	require.Equal(t, 1, drain(h.Allow))
}

// Charging again and again what no word can hold saturates; it never comes out
// as a bucket with tokens in it.
func TestHandleChargeSaturates(t *testing.T) {
	for _, l := range exactRates {
		g, c := gateWith(t, tickgate.Config{}, policy.Set{{Endpoint: endpoint, Limits: []policy.Limit{l}}})
		h := handleOf(t, g, "k")
		for _, n := range []int64{math.MaxInt64, 1, math.MaxInt64 / 2, math.MaxInt64} {
			h.Charge(n)
			d := h.Take(1)
			require.False(t, d.Allowed, "%s after %d", l, n)
			require.Zero(t, d.Remaining)
			require.Greater(t, d.RetryAfter, time.Duration(year))
			c.Advance(time.Hour)
		}
	}
}

// All pins of one key.
func TestHandleMostPins(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "10/h")
	var handles []tickgate.Handle
	for {
		h, err := g.Handle("k", endpoint)
		if err != nil {
			require.ErrorIs(t, err, tickgate.ErrFull)
			break
		}
		handles = append(handles, h)
	}
	require.Len(t, handles, 8_190)
	handles[0].Release()
	handles[0] = handleOf(t, g, "k")
	for _, h := range handles {
		h.Release()
	}
	require.True(t, g.Allow("k", endpoint))
}
