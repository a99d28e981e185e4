package tickgate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// shapes are policies of every kind of limit, and of one to eight of them, wide
// enough for thousands of calls or narrow enough to deny most.
func shapes(tokens int) map[string][]string {
	kinds := []string{"", " aligned", " aligned skew=100ms", " from-first", " from-first skew=100ms", " rolling", " rolling skew=100ms", " burst=900000"}
	out := map[string][]string{}
	var all []string
	for i, k := range kinds {
		out[fmt.Sprintf("one%s of %d", k, tokens)] = []string{fmt.Sprintf("%d/s%s", tokens, k)}
		all = append(all, fmt.Sprintf("%d/s%s name=l%d", tokens, k, i))
		if i > 0 {
			out[fmt.Sprintf("%d limits of %d", i+1, tokens)] = append([]string(nil), all...)
		}
	}
	out[fmt.Sprintf("reserve of %d", tokens)] = []string{fmt.Sprintf("%d/s reserve=1 rolling", tokens)}
	return out
}

func TestG5NoAllocationsInWindows(t *testing.T) {
	for _, tokens := range []int{2, 700, 20_000} {
		for name, limits := range shapes(tokens) {
			g, c := gateWith(t, tickgate.Config{Wall: clock.NewManualWall(0)}, append(setOf(t, limits...), policyOf(t, policy.DefaultEndpoint, limits...)))
			h := handleOf(t, g, "k")
			first := g.Policies()[0].Limits[0].Label()
			for what, call := range map[string]func(){
				"AllowAt":      func() { h.AllowAt(c.Now(), 1) },
				"Allow":        func() { h.Allow() },
				"TakeAt":       func() { h.TakeAt(c.Now(), 1) },
				"moving":       func() { h.TakeAt(c.Advance(time.Millisecond), 1) },
				"windows over": func() { h.TakeAt(c.Advance(time.Second), 1) },
				"late":         func() { h.TakeAt(c.Now().Add(-time.Second), 1) },
				"looking":      func() { h.TakeAt(c.Now(), 0) },
				"too costly":   func() { h.TakeAt(c.Now(), 1<<40) },
				"TakeUrgentAt": func() { h.TakeUrgentAt(c.Now(), 1) },
				"TakeCostsAt": func() {
					h.TakeCostsAt(c.Now(), 1, tickgate.Cost{Limit: first, N: 2})
				},
				"a bad cost":      func() { h.TakeCostsAt(c.Now(), 1, tickgate.Cost{Limit: "none", N: 2}) },
				"Refund":          func() { h.Refund(h.TakeAt(c.Advance(time.Millisecond), 1)) },
				"Charge":          func() { h.Charge(1) },
				"Credit":          func() { h.Credit(1) },
				"ChargeLimit":     func() { h.ChargeLimit(first, 1) },
				"SyncUsed":        func() { h.SyncUsed(h.TakeAt(c.Advance(time.Second), 1), first, 1) },
				"Gate.Allow":      func() { g.Allow("named", endpoint) },
				"Gate.Take":       func() { g.Take("named", endpoint, 1) },
				"unlisted":        func() { g.Take("named", "unlisted", 1) },
				"unlisted, moved": func() { g.TakeAt(c.Advance(time.Second), "named", "unlisted", 1) },
			} {
				requireAllocs(t, name+": "+what, call)
			}
		}
	}
}

// requireAllocs is requireNoAllocs of fewer runs.
func requireAllocs(t *testing.T, name string, f func()) {
	t.Helper()
	require.Zero(t, testing.AllocsPerRun(60, f), "%s allocates", name)
}

func TestG5NoAllocationsInGroups(t *testing.T) {
	for _, tokens := range []int{2, 20_000} {
		all := shapes(tokens)
		for name, limits := range all {
			_, c, hs := joinedGate(t, tickgate.Config{}, limits, all[fmt.Sprintf("one of %d", tokens)], all[fmt.Sprintf("3 limits of %d", tokens)])
			j := joinOf(t, hs...)
			each := []int64{1, 0, 2}
			for what, call := range map[string]func(){
				"AllowAt":          func() { j.AllowAt(c.Now(), 1) },
				"Allow":            func() { j.Allow() },
				"TakeAt":           func() { j.TakeAt(c.Now(), 1) },
				"moving":           func() { j.TakeAt(c.Advance(time.Second), 1) },
				"TakeEachAt":       func() { j.TakeEachAt(c.Now(), 1, 0, 2) },
				"TakeEachAt each":  func() { j.TakeEachAt(c.Now(), each...) },
				"TakeUrgentAt":     func() { j.TakeUrgentAt(c.Now(), 1) },
				"TakeUrgentEachAt": func() { j.TakeUrgentEachAt(c.Now(), 0, 0, 1) },
				"looking":          func() { j.TakeAt(c.Now(), 0) },
				"too costly":       func() { j.TakeAt(c.Now(), 1<<40) },
				"a bad request":    func() { j.TakeEachAt(c.Now(), 1) },
				"Refund":           func() { j.Refund(j.TakeAt(c.Advance(time.Second), 1)) },
			} {
				requireAllocs(t, name+": "+what, call)
			}
		}
	}
	_, c, hs := joinedGate(t, tickgate.Config{}, []string{"5/h"}, []string{"1000000/s"}, []string{"1000000/s"}, []string{"1000000/s"},
		[]string{"1000000/s"}, []string{"1000000/s"}, []string{"1000000/s"}, []string{"1000000/s"})
	for _, members := range [][]tickgate.Handle{hs[1:2], hs[1:], hs} {
		j := joinOf(t, members...)
		requireAllocs(t, "eight of one limit", func() { j.AllowAt(c.Now(), 1); j.TakeAt(c.Now(), 1) })
	}
}

// Keys that are blocked or banned, by name and by handle, seen and not.
func TestG5NoAllocationsWhereBarred(t *testing.T) {
	for name, limits := range shapes(20_000) {
		g, c := gateWith(t, tickgate.Config{Wall: clock.NewManualWall(0)}, append(setOf(t, limits...), policyOf(t, policy.DefaultEndpoint, limits...)))
		long := strings.Repeat("k", 256)
		for _, k := range []string{"k", long} {
			h := handleOf(t, g, k)
			j := joinOf(t, h)
			calls := func(what string, want tickgate.Reason) {
				require.Equal(t, want, h.Take(1).Reason)
				requireAllocs(t, name+", "+what, func() {
					h.AllowAt(c.Now(), 1)
					h.TakeAt(c.Now(), 1)
					h.TakeUrgentAt(c.Now(), 1)
					g.Allow(k, endpoint)
					g.Take(k, endpoint, 1)
					g.Take(k, "never seen", 1)
					g.Allow(k, "never seen")
					j.AllowAt(c.Now(), 1)
					j.TakeAt(c.Now(), 1)
				})
			}
			for _, who := range []string{k, ""} {
				g.Block(who)
				calls("blocked", tickgate.Blocked)
				g.Unblock(who)
			}
			h.Ban(c.Now().Add(5 * time.Second))
			calls("banned", tickgate.Banned)
			c.Advance(5 * time.Second)
			calls("after a ban", tickgate.OK)
		}
	}
}

// Keys that nobody has seen before: into a table with room, one that evicts full keys,
// and one in which everybody owes.
func TestG5NoAllocationsForNewKeysInWindows(t *testing.T) {
	const runs = 300
	for _, room := range []struct {
		maxKeys int
		step    time.Duration
	}{{5000, 0}, {50, 10 * time.Second}, {50, 0}} {
		for name, limits := range shapes(1000) {
			g, c := gateWith(t, tickgate.Config{MaxKeys: room.maxKeys, Wall: clock.NewManualWall(0)},
				append(setOf(t, limits...), policyOf(t, policy.DefaultEndpoint, limits...)))
			for _, e := range []string{endpoint, "unlisted"} {
				keys := keysOf(2*runs + 2)
				i := 0
				require.Zero(t, testing.AllocsPerRun(runs, func() {
					c.Advance(room.step)
					if !g.Allow(keys[i], e) || !g.Take(keys[i+1], e, 1).Allowed {
						t.Error("denied")
					}
					i += 2
				}), "%s, room for %d", name, room.maxKeys)
			}
		}
	}
}
