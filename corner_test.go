package tickgate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// A rolling limit of another name takes the word of one that goes, in slots that had
// many keys: its ring is there for every key before it decides.
func TestG9ChangeBringsARing(t *testing.T) {
	for _, from := range []string{"50/s name=a", "50/s aligned name=a", "50/s from-first name=a", "50/s rolling name=a"} {
		g, c := gateOf(t, tickgate.Config{MaxKeys: 64, Wall: clock.NewManualWall(0)}, from)
		for i := range 640 {
			g.Allow(fmt.Sprint("key-", i), endpoint)
			c.Advance(50 * time.Millisecond)
		}
		for i, to := range []string{"50/s rolling name=b", "2000/s rolling name=c", "40/s name=d", "7/s rolling name=e"} {
			require.NoError(t, g.Apply(setOf(t, to)))
			for i := range 640 {
				g.Allow(fmt.Sprint("key-", i), endpoint)
			}
			want := []int{50, 2000, 40, 7}[i]
			require.Equal(t, want, drain(func() bool { return g.Allow(fmt.Sprint("new-", i), endpoint) }), "%s to %s", from, to)
		}
	}
}

// The same while others take and bring keys in.
func TestG9ChangeBringsARingWhileTaking(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{MaxKeys: 32, Wall: clock.NewManualWall(0)}, "50/s aligned name=a")
	forms := []string{"50/s rolling name=b", "50/s name=a", "2000/s rolling name=c", "60/s rolling name=b", "50/s from-first name=d"}
	together(4, func(i int) {
		if i == 0 {
			for k := range scaled(200, 40) {
				require.NoError(t, g.Apply(setOf(t, forms[k%len(forms)])))
			}
			return
		}
		for k := range scaled(20_000, 4_000) {
			g.Allow(fmt.Sprint("key-", (k*i)%100), endpoint)
			if i == 1 && k%8 == 0 {
				c.Advance(time.Millisecond)
			}
		}
	})
}

// A decision that no handle made remembers less of several limits, and gives back
// less for it.
func TestG1BoundRefundOfAGatesDecision(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "1/s name=a", "100/m name=b")
	h := handleOf(t, g, "k")
	d := g.TakeAt(c.Now(), "k", endpoint, 1)
	require.True(t, d.Allowed)
	c.Advance(10 * time.Second)
	require.True(t, h.Allow())
	h.Refund(d)
	require.False(t, h.Allow(), "time had given it back already")
}

// What a venue's count took off is not given back once more.
func TestG1BoundRefundAfterSyncUsed(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "1/s burst=10 name=w")
	h := handleOf(t, g, "k")
	first := h.Take(8)
	second := h.Take(1)
	h.SyncUsed(first, "w", 0)
	c.Advance(5 * time.Second)
	require.True(t, h.AllowAt(c.Now(), 10))
	h.Refund(second)
	require.False(t, h.Allow())
}

// A short window and a long one, both used up: the wait is that of the long one,
// although the short one's word does not reach so far.
func TestG8RetryOfADayBesideTenSeconds(t *testing.T) {
	for _, limits := range [][]string{
		{"3/10s aligned skew=20ms name=s", "10/d aligned skew=20ms name=d"},
		{"3/10s aligned name=s", "10/d aligned name=d"},
		{"3/10s from-first skew=20ms name=s", "10/d from-first name=d"},
		{"3/10s rolling name=s", "10/d rolling name=d"},
	} {
		g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(2*time.Hour - time.Hour)}, limits...)
		h := handleOf(t, g, "k")
		for range 10 {
			d := h.Take(1)
			if !d.Allowed {
				require.Equal(t, "s", d.Limit)
				c.Advance(d.RetryAfter)
				d = h.Take(1)
			}
			require.True(t, d.Allowed)
		}
		for d := h.Take(1); d.Limit == "s"; d = h.Take(1) {
			require.False(t, d.Allowed)
			c.Advance(d.RetryAfter)
		}
		d := h.Take(3)
		require.Equal(t, tickgate.Limited, d.Reason)
		require.Equal(t, "d", d.Limit, "%v", limits)
		c.Advance(d.RetryAfter - 1)
		require.False(t, h.AllowAt(c.Now(), 3), "%v", limits)
		c.Advance(1)
		require.True(t, h.AllowAt(c.Now(), 3), "%v", limits)
	}
}

// Who waits is told when tokens are given back.
func TestWaitIsToldOfWhatIsGivenBack(t *testing.T) {
	for _, limit := range []string{"10/h name=w", "10/h rolling name=w", "10/h aligned name=w", "10/h from-first name=w"} {
		for name, give := range map[string]func(q *queue, d tickgate.Decision){
			"refund": func(q *queue, d tickgate.Decision) { q.h.Refund(d) },
			"credit": func(q *queue, _ tickgate.Decision) { q.h.Credit(5) },
			"sync":   func(q *queue, d tickgate.Decision) { q.h.SyncUsed(d, "w", 0) },
		} {
			t.Run(limit+", "+name, func(t *testing.T) {
				inBubble(t, setOf(t, limit), func(t *testing.T, q *queue) {
					d := q.h.Take(10)
					require.True(t, d.Allowed)
					q.wait(q.Context(), "k", q.h, 1)
					q.until(time.Second)
					give(q, d)
					q.expect(ended{"k", time.Second, nil})
				})
			})
		}
	}
}

// Of several limits the faster one has its tokens before the slower: who waited for
// the slower passes it too.
func TestWaitPassesTheFasterLimitToo(t *testing.T) {
	inBubble(t, setOf(t, "1/18s name=a", "1/s name=b"), func(t *testing.T, q *queue) {
		q.h.ChargeLimit("b", 100)
		q.wait(context.Background(), "k", q.h, 1)
		q.until(100 * time.Second)
		q.expect(ended{"k", 100 * time.Second, nil})
		require.False(t, q.h.Allow())
		q.until(117 * time.Second)
		require.False(t, q.h.Allow())
		q.until(118 * time.Second)
		require.True(t, q.h.Allow())
	})
}

// More tokens than a mark can tell apart are not taken off.
func TestSyncUsedOfMoreThanAMarkHolds(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "2000000000/s burst=10000000000 name=w")
	h := handleOf(t, g, "k")
	d := h.Take(1)
	require.True(t, h.AllowAt(c.Now(), 3e9))
	h.SyncUsed(d, "w", 1)
	require.Equal(t, int64(7e9-1), left(g, "k"))
}

// A charge where a window from its first event is shut may have opened the venue's
// next one.
func TestChargeInTheGuardOfAWindow(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "2/s from-first skew=100ms")
	h := handleOf(t, g, "k")
	begin := c.Now()
	require.True(t, h.Allow())
	c.Advance(1050 * time.Millisecond)
	h.Charge(1)
	n := 1
	for c.Now() < begin.Add(2050*time.Millisecond) {
		if h.Allow() {
			n++
		}
		c.Advance(10 * time.Millisecond)
	}
	require.LessOrEqual(t, n, 2, "the venue's window from 1.05 s")
}

// A set that is nil is a mistake rather than a way to deny everything.
func TestApplyNil(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "10/h")
	require.ErrorContains(t, g.Apply(nil), "would deny everything")
	require.True(t, g.Allow("k", endpoint))
	require.NoError(t, g.Apply(policy.Set{}))
	require.Equal(t, tickgate.NoPolicy, g.Take("k", endpoint, 1).Reason)
}

// Blocking a name that nobody can have tells the record so.
func TestBlockOfAnImpossibleName(t *testing.T) {
	var told []tickgate.Change
	g, _ := gateOf(t, tickgate.Config{Audit: func(c tickgate.Change) { told = append(told, c) }}, "10/h")
	g.Block(strings.Repeat("x", 257))
	require.Len(t, told, 1)
	require.ErrorIs(t, told[0].Err, tickgate.ErrKey)
	require.Equal(t, uint64(1), g.Stats().BadRequests)
}

// What was given back in sum wraps after 292 years of refill, which a slow limit gives
// back in some hundred refunds: nothing is minted there.
func TestG1BoundWhereGiftsWrap(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "1/d burst=365")
	h := handleOf(t, g, "k")
	for range 292 {
		d := h.Take(365)
		require.True(t, d.Allowed)
		h.Refund(d)
	}
	first, second := h.Take(183), h.Take(182)
	h.Refund(second) // here it wraps
	c.Advance(183 * 24 * time.Hour)
	admitted := 0
	for h.Allow() {
		admitted++
	}
	h.Refund(first)
	for h.Allow() {
		admitted++
	}
	require.LessOrEqual(t, admitted, 365)
}
