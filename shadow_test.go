package tickgate_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// shadowGate makes a gate with one policy for "e", in shadow mode, and one, "real",
// with the same limits that is not.
func shadowGate(t *testing.T, change func(*tickgate.Config), limits ...string) (*tickgate.Gate, *clock.Manual) {
	t.Helper()
	p := policy.Policy{Endpoint: "real"}
	for _, text := range limits {
		l, err := policy.ParseLimit(text)
		require.NoError(t, err)
		p.Limits = append(p.Limits, l)
	}
	shadow := p
	shadow.Endpoint, shadow.Shadow = "e", true
	c := clock.NewManual(clock.Time(time.Hour))
	cfg := tickgate.Config{Policies: policy.Set{shadow, p}, Clock: c, Wall: clock.NewManualWall(0)}
	if change != nil {
		change(&cfg)
	}
	g, err := tickgate.New(cfg)
	require.NoError(t, err)
	return g, c
}

// What a policy in shadow mode would have denied is what the same policy denies where
// it is in force, whatever way the gate is asked.
func TestShadowDeniesWhatItWould(t *testing.T) {
	for _, limits := range [][]string{{"10/s burst=3"}, {"3/s rolling", "20/10s"}, {"2/100ms aligned"}} {
		g, c := shadowGate(t, nil, limits...)
		shadow, err := g.Handle("k", "e")
		require.NoError(t, err)
		real, err := g.Handle("k", "real")
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(1, 2))
		denied := uint64(0)
		for range 3000 {
			c.Advance(time.Duration(r.IntN(int(200 * time.Millisecond))))
			now, n := c.Now(), int64(r.IntN(5))
			d := real.TakeAt(now, n)
			switch r.IntN(4) {
			case 0:
				s := shadow.TakeAt(now, n)
				require.True(t, s.Allowed)
				require.Equal(t, !d.Allowed, s.Shadow)
				require.Equal(t, d.Reason, s.Reason)
				require.Equal(t, d.RetryAfter, s.RetryAfter)
				require.Equal(t, d.Remaining, s.Remaining)
			case 1:
				require.True(t, n == 0 || shadow.AllowAt(now, n))
			case 2:
				require.True(t, g.TakeAt(now, "k", "e", n).Allowed)
			case 3:
				out := make([]tickgate.Decision, 1)
				g.TakeBatch(now, []tickgate.Request{{APIKey: "k", Endpoint: "e", N: n}}, out)
				require.Equal(t, !d.Allowed, out[0].Shadow)
			}
			if !d.Allowed && n > 0 {
				denied++
			}
		}
		s := g.Stats()
		require.Equal(t, denied, s.Policies[0].Shadowed)
		require.Zero(t, s.Policies[0].Denied)
		require.Equal(t, denied, s.Policies[1].Denied)
		require.Equal(t, s.Policies[0].Allowed, s.Policies[1].Allowed+s.Policies[1].Denied)
		require.NotZero(t, denied)
	}
}

func TestShadowOfWhatNeverPasses(t *testing.T) {
	g, _ := shadowGate(t, nil, "deny")
	d := g.Take("k", "e", 1)
	require.True(t, d.Allowed)
	require.True(t, d.Shadow)
	require.Equal(t, tickgate.TooCostly, d.Reason)
	require.Equal(t, "deny", d.Limit)
	require.True(t, g.Take("k", "e", 0).Shadow, "a look")
	require.EqualValues(t, 1, g.Stats().Policies[0].Shadowed)

	g, _ = shadowGate(t, func(c *tickgate.Config) { c.MaxKeys, c.OnFull = 1, tickgate.RejectNew }, "1/s")
	require.True(t, g.Allow("a", "e"))
	d = g.Take("b", "e", 1)
	require.True(t, d.Allowed)
	require.Equal(t, tickgate.Full, d.Reason)
	require.False(t, g.Take("b", "real", 1).Allowed)
}

// What no limit denies, stays denied.
func TestShadowHidesNoBar(t *testing.T) {
	g, c := shadowGate(t, nil, "1/s")
	h, err := g.Handle("k", "e")
	require.NoError(t, err)
	g.Block("k")
	require.False(t, h.Allow())
	require.False(t, g.Allow("k", "e"))
	g.Unblock("k")
	require.True(t, h.Allow())
	h.Ban(c.Now().Add(time.Second))
	require.Equal(t, tickgate.Banned, h.Take(1).Reason)
	require.False(t, h.Take(-1).Allowed)
	s := g.Stats().Policies[0]
	require.EqualValues(t, 3, s.Denied)
	require.EqualValues(t, 3, s.Barred)
	require.EqualValues(t, 1, s.Allowed)
}

// A key in the shadow binds no other of its group, and is charged with them where it can be.
func TestShadowInGroups(t *testing.T) {
	g, c := shadowGate(t, nil, "2/s")
	var handles []tickgate.Handle
	for _, of := range []struct{ key, endpoint string }{{"session", "e"}, {"account", "real"}, {"firm", "e"}} {
		h, err := g.Handle(of.key, of.endpoint)
		require.NoError(t, err)
		handles = append(handles, h)
	}
	all, err := tickgate.Join(handles...)
	require.NoError(t, err)
	left := func(i int) int64 { return handles[i].Take(0).Remaining }
	now := c.Now()

	require.True(t, handles[0].AllowAt(now, 2))
	d := all.TakeAt(now, 1)
	require.True(t, d.Allowed)
	require.True(t, d.Shadow)
	require.Equal(t, tickgate.Limited, d.Reason)
	require.Equal(t, 0, d.Member)
	require.Equal(t, 500*time.Millisecond, d.RetryAfter)
	require.Equal(t, []int64{0, 1, 1}, []int64{left(0), left(1), left(2)})
	all.Refund(d)
	require.Equal(t, []int64{0, 2, 2}, []int64{left(0), left(1), left(2)})
	require.True(t, all.AllowAt(now, 1))

	require.True(t, handles[1].AllowAt(now, 1))
	d = all.TakeAt(now, 1)
	require.False(t, d.Allowed, "who is not in the shadow denies")
	require.Equal(t, 1, d.Member)
	require.False(t, all.AllowAt(now, 1))
	require.Equal(t, []int64{0, 0, 1}, []int64{left(0), left(1), left(2)})

	require.True(t, all.TakeEachAt(now, 1, 0, 1).Allowed)
	d = all.TakeEachAt(now, 1, 0, 1)
	require.True(t, d.Allowed, "all that are asked are in the shadow")
	require.True(t, d.Shadow)
	all.Refund(d)
	require.Equal(t, []int64{0, 0, 0}, []int64{left(0), left(1), left(2)})
	require.True(t, all.TakeUrgentEachAt(now, 5, 0, 0).Shadow, "too costly")
}

func TestShadowDoesNotWait(t *testing.T) {
	g, c := shadowGate(t, nil, "1/h")
	h, err := g.Handle("k", "e")
	require.NoError(t, err)
	ctx := context.Background()
	for range 3 {
		require.NoError(t, h.Wait(ctx, 1))
	}
	res, err := h.ReserveAt(c.Now(), 1)
	require.NoError(t, err)
	require.Zero(t, res.Delay())
	require.True(t, res.Decision().Shadow)
	res.Cancel()
	require.Zero(t, h.Take(0).Remaining)
	g.Block("k")
	require.ErrorIs(t, h.Wait(ctx, 1), tickgate.ErrBlocked)
}

// Who waits passes when the policy goes into the shadow.
func TestShadowEndsWaiting(t *testing.T) {
	set := policy.Set{{Endpoint: "e", Limits: []policy.Limit{{Tokens: 1, Per: time.Hour}}}}
	g, err := tickgate.New(tickgate.Config{Policies: set})
	require.NoError(t, err)
	h, err := g.Handle("k", "e")
	require.NoError(t, err)
	require.True(t, h.Allow())
	done := make(chan error, 3)
	for range cap(done) {
		go func() { done <- h.Wait(context.Background(), 1) }()
	}
	set[0].Shadow = true
	require.NoError(t, g.Apply(set))
	for range cap(done) {
		require.NoError(t, <-done)
	}
	set[0].Shadow = false
	require.NoError(t, g.Apply(set))
	require.False(t, h.Allow(), "what was used stays used")
}

func TestShadowAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	g, c := shadowGate(t, nil, "1/h")
	h, err := g.Handle("k", "e")
	require.NoError(t, err)
	now := c.Now()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		h.AllowAt(now, 1)
		h.TakeAt(now, 1)
		g.Allow("k", "e")
	}))
}
