package tickgate_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// counting are limits of 6,000 a minute of every kind, named w, all but the first
// exact to the nanosecond at the times of these tests.
var counting = []string{
	"6000/m name=w", "6000/m aligned name=w", "6000/m aligned skew=1s name=w",
	"6000/m from-first name=w", "6000/m from-first skew=1s name=w", "6000/m rolling name=w", "1000/m rolling name=w",
}

// syncedGate is a gate with one handle under one limit named w, or more.
func syncedGate(t testing.TB, limits ...string) (*tickgate.Gate, *clock.Manual, tickgate.Handle) {
	g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, limits...)
	c.Advance(2 * time.Second) // past the skew of the window before
	return g, c, handleOf(t, g, "k")
}

// usedOf is what a look says is used of the tightest limit, whose capacity is known.
func usedOf(g *tickgate.Gate, h tickgate.Handle) int64 {
	return g.Policies()[0].Limits[0].Capacity() - h.Take(0).Remaining
}

func TestSyncUsedAddsWhatTheVenueCountedMore(t *testing.T) {
	for _, l := range counting {
		g, _, h := syncedGate(t, l)
		d := h.Take(50)
		require.True(t, h.Take(100).Allowed)
		h.SyncUsed(d, "w", 70)
		require.Equal(t, int64(170), usedOf(g, h), l)
		h.SyncUsed(d, "w", 70) // the same reply twice
		require.Equal(t, int64(170), usedOf(g, h), "%s: a reply that came twice", l)
	}
}

func TestSyncUsedTakesOffWhatTheVenueDidNotCount(t *testing.T) {
	for _, l := range counting {
		g, _, h := syncedGate(t, l)
		d := h.Take(50)
		require.True(t, h.Take(100).Allowed)
		h.SyncUsed(d, "w", 20)
		require.Equal(t, int64(120), usedOf(g, h), l)
		h.SyncUsed(d, "w", 0)
		require.Equal(t, int64(100), usedOf(g, h), "%s: corrected again", l)
	}
}

// Each reply corrects by what is new in it, whatever was corrected before.
func TestSyncUsedOneReplyAfterTheOther(t *testing.T) {
	for _, l := range counting {
		g, _, h := syncedGate(t, l)
		h.SyncUsed(h.Take(50), "w", 70)
		require.Equal(t, int64(70), usedOf(g, h), l)
		h.SyncUsed(h.Take(10), "w", 80)
		require.Equal(t, int64(80), usedOf(g, h), "%s: the second reply brought nothing new", l)
		h.SyncUsed(h.Take(10), "w", 60)
		require.Equal(t, int64(60), usedOf(g, h), l)
		h.SyncUsed(h.Take(10), "w", 70)
		require.Equal(t, int64(70), usedOf(g, h), l)
	}
}

// A reply to an earlier admission that comes after one to a later admission knows
// less: what the later one told stays.
func TestSyncUsedRepliesOutOfOrder(t *testing.T) {
	for _, l := range counting {
		g, _, h := syncedGate(t, l)
		first := h.Take(50)
		second := h.Take(100) // the venue counts 20 of somebody else in between
		h.SyncUsed(second, "w", 170)
		require.Equal(t, int64(170), usedOf(g, h), l)
		h.SyncUsed(first, "w", 50)
		require.Equal(t, int64(170), usedOf(g, h), "%s: an old reply took back what a newer one told", l)
	}
}

// Replies in every order: never less is counted than the venue counts, and once
// the reply to the last admission came, exactly that.
func TestSyncUsedRepliesInAnyOrder(t *testing.T) {
	for _, l := range counting {
		for round := range scaled(300, 40) {
			r := rand.New(rand.NewPCG(31, uint64(round)))
			g, _, h := syncedGate(t, l)
			type reply struct {
				d    tickgate.Decision
				used int64
			}
			var replies []reply
			venue := int64(0)
			for range 6 {
				n := 1 + r.Int64N(9)
				venue += n + r.Int64N(3)*r.Int64N(9) // and of somebody else
				replies = append(replies, reply{h.Take(n), venue})
			}
			last := replies[len(replies)-1]
			r.Shuffle(len(replies), func(i, j int) { replies[i], replies[j] = replies[j], replies[i] })
			told := false
			for _, a := range replies {
				h.SyncUsed(a.d, "w", a.used)
				if told = told || a == last; told {
					require.Equal(t, venue, usedOf(g, h), "%s, round %d", l, round)
				}
			}
		}
	}
}

// An order that was taken for, and not sent, is refunded; the venue never heard of
// it. A reply to a later admission then must not take it off once more.
func TestSyncUsedAfterRefund(t *testing.T) {
	for _, l := range counting {
		g, _, h := syncedGate(t, l)
		unsent := h.Take(10)
		sent := h.Take(5)
		h.Refund(unsent)
		require.Equal(t, int64(5), usedOf(g, h))
		h.SyncUsed(sent, "w", 5)
		require.GreaterOrEqual(t, usedOf(g, h), int64(5), "%s: taken off twice", l)
		h.SyncUsed(h.Take(1), "w", 6)
		require.Equal(t, int64(6), usedOf(g, h), l)
	}
}

// What was refunded of a later admission is no news for an earlier one's reply.
func TestSyncUsedBeforeWhatWasRefunded(t *testing.T) {
	for _, l := range counting {
		g, _, h := syncedGate(t, l)
		sent := h.Take(5)
		h.Refund(h.Take(10))
		h.SyncUsed(sent, "w", 5)
		require.GreaterOrEqual(t, usedOf(g, h), int64(5), l)
		require.LessOrEqual(t, usedOf(g, h), int64(15), l)
	}
}

// What is charged after an admission stays counted on top of the venue's count as
// of it.
func TestSyncUsedAfterCharge(t *testing.T) {
	for _, l := range counting {
		g, _, h := syncedGate(t, l)
		d := h.Take(50)
		h.Charge(30)
		h.SyncUsed(d, "w", 60)
		require.Equal(t, int64(90), usedOf(g, h), l)
		h.ChargeLimit("w", 5)
		h.SyncUsed(d, "w", 60)
		require.Equal(t, int64(95), usedOf(g, h), l)
	}
}

// After what was credited, too, no reply leaves less than the venue counts.
func TestSyncUsedAfterCredit(t *testing.T) {
	for _, l := range counting {
		for _, credit := range []func(tickgate.Handle){
			func(h tickgate.Handle) { h.Credit(30) }, func(h tickgate.Handle) { h.CreditLimit("w", 30) },
		} {
			g, _, h := syncedGate(t, l)
			d := h.Take(50)
			credit(h) // the venue said that it did not count them
			h.SyncUsed(d, "w", 20)
			require.GreaterOrEqual(t, usedOf(g, h), int64(20), "%s: taken off twice", l)
		}
	}
}

func TestSyncUsedOfAnotherWindow(t *testing.T) {
	for _, l := range []string{"6000/m aligned name=w", "6000/m aligned skew=1s name=w", "6000/m from-first name=w", "6000/m from-first skew=1s name=w"} {
		g, c, h := syncedGate(t, l)
		d := h.Take(50)
		c.Advance(61 * time.Second)
		h.SyncUsed(d, "w", 5990)
		require.Zero(t, usedOf(g, h), l)
		require.True(t, h.Take(7).Allowed)
		h.SyncUsed(d, "w", 5990)
		h.SyncUsed(d, "w", 0)
		require.Equal(t, int64(7), usedOf(g, h), l)
	}
	// Of a rolling limit, once the admission is out of the span.
	g, c, h := syncedGate(t, "1000/m rolling name=w")
	d := h.Take(50)
	c.Advance(time.Minute - 1)
	require.True(t, h.Take(7).Allowed)
	h.SyncUsed(d, "w", 60)
	require.Equal(t, int64(67), usedOf(g, h))
	c.Advance(1)
	h.SyncUsed(d, "w", 500)
	require.Equal(t, int64(17), usedOf(g, h), "the ten more count as of the reply")
}

// A late reply of a token bucket never gives back what time has refilled.
func TestSyncUsedOfABucketAfterRefill(t *testing.T) {
	g, c, h := syncedGate(t, "60/m name=w")
	d := h.Take(10)
	c.Advance(4 * time.Second) // 6 used
	require.True(t, h.Take(20).Allowed)
	h.SyncUsed(d, "w", 0)
	require.Equal(t, int64(20), usedOf(g, h), "of the ten, four were refilled by time")
	h.SyncUsed(d, "w", 15)
	require.GreaterOrEqual(t, usedOf(g, h), int64(31))
	require.LessOrEqual(t, usedOf(g, h), int64(35))
}

func TestSyncUsedIgnoresWhatIsNotItsOwn(t *testing.T) {
	for _, l := range counting {
		g, c, h := syncedGate(t, l)
		other := handleOf(t, g, "other")
		_, _, foreign := syncedGate(t, l)
		require.True(t, h.Take(50).Allowed)
		named := g.Take("k", endpoint, 5)
		denied := h.Take(1 << 40)
		for _, d := range []tickgate.Decision{
			{}, {Allowed: true}, other.Take(9), foreign.Take(9), denied, h.Take(0), named, h.Take(-1),
		} {
			h.SyncUsed(d, "w", 4000)
		}
		d := h.Take(5)
		h.SyncUsed(d, "", 4000)
		h.SyncUsed(d, "v", 4000)
		require.Equal(t, int64(60), usedOf(g, h), l)
		c.Advance(0)
		h.Release()
		h.SyncUsed(d, "w", 4000)
		tickgate.Handle{}.SyncUsed(d, "w", 4000)
		require.Equal(t, int64(60), g.Policies()[0].Limits[0].Capacity()-left(g, "k"))
	}
}

func TestSyncUsedNegative(t *testing.T) {
	for _, used := range []int64{-1, -2, math.MinInt64} {
		g, _, h := syncedGate(t, "10/m aligned name=w")
		d := h.Take(5)
		h.SyncUsed(d, "w", used)
		require.Equal(t, int64(5), usedOf(g, h))
		require.Equal(t, uint64(1), g.Stats().BadRequests, "%d", used)
	}
}

// The venue counts more than there is, however much: everything is denied.
func TestSyncUsedHuge(t *testing.T) {
	limits := append([]string{
		"1000000000/s burst=2000000000 name=w", "1000000000/s burst=1000000000000000 name=w",
		"1073741824/m aligned name=w", "1073741824/m from-first name=w", "1073741824/m rolling name=w",
	}, counting...)
	for _, l := range limits {
		for _, used := range []int64{1 << 31, 1<<31 + 7, 1 << 32, 1<<32 + 1, 1 << 40, 1 << 62, math.MaxInt64 - 1, math.MaxInt64} {
			g, _, h := syncedGate(t, l)
			d := h.Take(1)
			h.SyncUsed(d, "w", used)
			if capacity := g.Policies()[0].Limits[0].Capacity(); used >= capacity {
				require.False(t, h.Allow(), "%s, used %d", l, used)
			} else {
				require.Equal(t, used, usedOf(g, h), "%s", l)
			}
			require.Zero(t, g.Stats().BadRequests)
		}
	}
}

// Of several limits only the one that is named is corrected.
func TestSyncUsedOfOneLimit(t *testing.T) {
	g, _, h := syncedGate(t, "100/m aligned name=w", "200/m rolling name=r", "300/h name=b")
	d := h.Take(10)
	h.SyncUsed(d, "r", 150)
	h.SyncUsed(d, "b", 5)
	require.Equal(t, "r", h.Take(0).Limit)
	require.Equal(t, int64(50), h.Take(0).Remaining)
	require.NoError(t, g.Apply(setOf(t, "100/m aligned name=w", "200/m rolling name=r")))
	require.NoError(t, g.Apply(setOf(t, "200/m rolling name=r")))
	require.Equal(t, int64(150), usedOf(g, h))
	h.SyncUsed(d, "r", 151)
	require.Equal(t, int64(151), usedOf(g, h), "the limit was in force all the time")
}

// A limit that came, or changed its units, after the admission is left alone.
func TestSyncUsedAfterChange(t *testing.T) {
	g, _, h := syncedGate(t, "100/m aligned name=w")
	d := h.Take(10)
	require.NoError(t, g.Apply(setOf(t, "200/h aligned name=w")))
	h.SyncUsed(d, "w", 90)
	require.Equal(t, int64(10), usedOf(g, h))
	d = h.Take(5)
	require.NoError(t, g.Apply(setOf(t, "300/h aligned name=w")))
	h.SyncUsed(d, "w", 90)
	require.Equal(t, int64(90), usedOf(g, h), "only the capacity was changed")
}

// Which limit has how much left is told without taking.
func TestChargeAndCreditOfOneLimit(t *testing.T) {
	for _, kind := range []string{"", " aligned", " from-first", " rolling"} {
		g, _, h := syncedGate(t, "100/m"+kind+" name=w", "50/m"+kind+" name=v")
		h.ChargeLimit("w", 70)
		d := h.Take(0)
		require.Equal(t, "w", d.Limit)
		require.Equal(t, int64(30), d.Remaining)
		h.ChargeLimit("v", 40)
		require.Equal(t, "v", h.Take(0).Limit)
		require.Equal(t, int64(10), h.Take(0).Remaining)
		h.CreditLimit("v", 35)
		require.Equal(t, int64(30), h.Take(0).Remaining)
		h.CreditLimit("w", 1000)
		require.Equal(t, int64(45), h.Take(0).Remaining)
		require.Zero(t, g.Stats().BadRequests)
		h.ChargeLimit("none", 1)
		h.CreditLimit("none", 1)
		h.ChargeLimit("w", -1)
		h.CreditLimit("w", -1)
		h.Charge(-1)
		h.Credit(-1)
		require.Equal(t, uint64(6), g.Stats().BadRequests)
		h.ChargeLimit("w", math.MaxInt64)
		require.False(t, h.Allow())
		require.Equal(t, policy.Set.Equal(g.Policies(), g.Policies()), true)
	}
}
