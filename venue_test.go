package tickgate_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/internal/venuesim"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/policy/venue"
)

// What the gate is told about the way to the venue. Delays are spread evenly over
// their bounds, or are one of the two, in the harsh trials; the venue's clock
// wanders around ours, or stands off as far as it may.
const (
	fastest    = time.Millisecond
	slowest    = 15 * time.Millisecond
	clockError = 3 * time.Millisecond

	// jitter is what venue.Guard asks for: the spread of the delays, and the error
	// of the clocks either way.
	jitter = slowest - fastest + 2*clockError
	// ahead is how far the gate's wall clock has to read ahead of ours.
	ahead = slowest + clockError
)

// midnight is when every trial begins on the venue's clock: a boundary of every
// aligned window there is.
var midnight = time.Date(2026, time.November, 30, 0, 0, 0, 0, time.UTC).UnixNano()

// trial is one sender on one venue.
type trial struct {
	preset venue.Preset
	guard  time.Duration // for venue.Guard; without one the wall clock is not ahead either
	flows  [][]string    // classes of messages; those of one flow take turns
	span   time.Duration
	net    venuesim.Network
}

// wandering is a network with every delay between the bounds and a venue's clock
// that goes from as slow as it may be to as fast and back, in two minutes each.
func wandering(p venue.Preset) venuesim.Network {
	return venuesim.Network{
		Min: fastest, Max: slowest, Ordered: ordered(p), Seed: 1,
		Clock: venuesim.Clock{Offset: -clockError, Drift: 50 * time.Microsecond, Swing: 2 * clockError, Start: midnight + int64(clockError)},
	}
}

// harsh is a network of the shortest and the longest delay alone, and a clock that
// is off as far as it may be.
func harsh(off time.Duration, ordered bool) venuesim.Network {
	return venuesim.Network{
		Min: fastest, Max: slowest, Harsh: true, Ordered: ordered, Seed: 2, Clock: venuesim.Clock{Offset: off},
	}
}

// ordered says which interfaces are one connection, on which no message overtakes
// another. Requests over HTTP may.
func ordered(p venue.Preset) bool {
	return strings.Contains(p.Name, "fix") || slices.Contains([]string{"cme-ilink", "hkex-ocgc"}, p.Name)
}

// outcome is what the venue says of a trial.
type outcome struct {
	venue *venuesim.Venue
	sent  int
}

// run sends as much as the gate allows, and asks again exactly when the gate says.
func (r trial) run(t *testing.T) outcome {
	judge := judgeOf(t, r.preset)
	wire, err := venuesim.NewWire(judge, r.net)
	require.NoError(t, err)
	now := midnight - int64(r.net.Clock.Offset)
	end := now + int64(r.span)
	judge.Advance(midnight)
	judge.Horizon(midnight + int64(r.span))

	wall := clock.NewManualWall(0)
	if r.guard > 0 {
		wall.SetOffset(ahead)
	}
	ours := clock.NewManual(clock.Time(now))
	gate, err := tickgate.New(tickgate.Config{
		Policies: venue.Guard(r.preset.Policies, r.guard), MaxKeys: 64, Clock: ours, Wall: wall,
	})
	require.NoError(t, err)
	var streams []*stream
	for i, f := range r.flows {
		streams = append(streams, newStream(t, gate, r.preset, i, now, f))
	}
	out := outcome{venue: judge}
	for {
		s := slices.MinFunc(streams, func(a, b *stream) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.sent, b.sent)) // those that are due at once take turns
		})
		if s.at >= end {
			break
		}
		if s.at > now {
			now = s.at
			ours.Set(clock.Time(now))
			wire.Deliver(now)
		}
		m := s.next()
		d := m.group.TakeEachAt(clock.Time(now), m.each...)
		if !d.Allowed {
			require.Equal(t, tickgate.Limited, d.Reason, "%s at %d", m.class, now)
			require.Positive(t, d.RetryAfter)
			require.False(t, s.waited && len(streams) == 1, "%s was told to ask again at %d, and is denied by %s", m.class, now, d.Limit)
			s.at, s.waited = now+int64(d.RetryAfter), true
			continue
		}
		wire.SendOn(s.number, now, m.class, m.costs...)
		s.at, s.waited = now+m.pace, false
		s.sent++
		out.sent++
	}
	wire.Deliver(end + int64(slowest))
	require.Zero(t, wire.Pending())
	return out
}

// judgeOf is the venue that enforces a preset: each class of messages is under the
// limits of all the counts that it draws on.
func judgeOf(t testing.TB, p venue.Preset) *venuesim.Venue {
	counts := map[string][]*venuesim.Rule{}
	rules := venuesim.From(p.Policies)
	for _, c := range p.Policies {
		for _, r := range rules.Rules(c.Endpoint) {
			counts[c.Endpoint] = append(counts[c.Endpoint], &r)
		}
	}
	var classes []venuesim.Class
	for _, m := range p.Messages {
		c := venuesim.Class{Name: m.Class}
		for _, d := range m.Draws {
			c.Rules = append(c.Rules, counts[d.Endpoint]...)
		}
		classes = append(classes, c)
	}
	v, err := venuesim.New(classes...)
	require.NoError(t, err)
	return v
}

// message is one that may be sent: what it takes from the gate, and from the venue.
type message struct {
	class string
	group tickgate.Group
	each  []int64 // by the handles of group
	costs []int64 // by the rules of the class
	pace  int64   // ns to the next, of what nobody counts
}

// stream is messages that take turns, one session.
type stream struct {
	number   int
	messages []message
	sent     int
	at       int64 // when the next is due
	waited   bool
}

func (s *stream) next() *message { return &s.messages[s.sent%len(s.messages)] }

func newStream(t testing.TB, g *tickgate.Gate, p venue.Preset, number int, at int64, classes []string) *stream {
	s := &stream{number: number, at: at}
	most := 1
	for _, class := range classes {
		most = max(most, len(callersCosts(p.Name, class)))
	}
	for i := range most {
		for _, class := range classes {
			costs := callersCosts(p.Name, class)
			s.messages = append(s.messages, messageOf(t, g, p, class, costs[i%len(costs)]))
		}
	}
	return s
}

// messageOf joins the handles of a message's draws.
func messageOf(t testing.TB, g *tickgate.Gate, p venue.Preset, class string, cost int64) message {
	kind, known := p.Message(class)
	require.True(t, known, "%s has no class %s", p.Name, class)
	m := message{class: class, pace: int64(10 * time.Millisecond)}
	var handles []tickgate.Handle
	for _, d := range kind.Draws {
		h, err := g.Handle(p.Keys[d.Endpoint], d.Endpoint)
		require.NoError(t, err)
		t.Cleanup(h.Release)
		handles = append(handles, h)
		m.each = append(m.each, d.Tokens(cost))
		counted, _ := p.Policies.Lookup(d.Endpoint)
		for _, l := range counted.Limits {
			m.costs = append(m.costs, d.Tokens(cost))
			if l.Window != policy.Unlimited {
				m.pace = 0
			}
		}
	}
	var err error
	m.group, err = tickgate.Join(handles...)
	require.NoError(t, err)
	return m
}

// callersCosts are the costs that a preset leaves to the caller, one after the
// other: weights of routes, orders in a batch, penalties by the order's age.
func callersCosts(preset, class string) []int64 {
	var costs []int64
	ages := []time.Duration{time.Second, 7 * time.Second, 12 * time.Second, 30 * time.Second, time.Minute, 4 * time.Minute}
	switch {
	case strings.HasPrefix(preset, "kraken-rest"):
	case strings.HasPrefix(preset, "kraken") && class == "order.cancel":
		for _, age := range ages {
			costs = append(costs, venue.KrakenCancelCost(age))
		}
	case strings.HasPrefix(preset, "kraken") && class == "order.replace":
		for _, age := range ages {
			costs = append(costs, venue.KrakenAmendCost(age))
		}
	case strings.HasPrefix(preset, "binance") && class == "query":
		costs = []int64{1, 2, 4, 5, 10, 20}
	case class == "order.batch":
		costs = []int64{5, 3, 2}
	}
	if costs == nil {
		return []int64{1}
	}
	return costs
}

// flowsOf groups the classes of a preset by the counts that they draw on, but for
// those that nothing limits.
func flowsOf(p venue.Preset) (flows [][]string) {
	at := map[string]int{}
	for _, m := range p.Messages {
		counts, limited := "", false
		for _, d := range m.Draws {
			c, _ := p.Policies.Lookup(d.Endpoint)
			limited = limited || c.Limits[0].Window != policy.Unlimited
			counts += d.Endpoint + " "
		}
		i, seen := at[counts]
		switch {
		case !limited:
		case seen:
			flows[i] = append(flows[i], m.Class)
		default:
			at[counts] = len(flows)
			flows = append(flows, []string{m.Class})
		}
	}
	return flows
}

// alone is every class as a flow of its own.
func alone(p venue.Preset) (flows [][]string) {
	for _, m := range p.Messages {
		flows = append(flows, []string{m.Class})
	}
	return flows
}

// simulated is how long a trial lasts, and which share of the limits it has to
// use: in a minute, what a guard costs once shows more.
func simulated() (span time.Duration, share float64) {
	if testing.Short() {
		return time.Minute, 0.90
	}
	return 10 * time.Minute, 0.97
}

// Under every preset, whoever sends as much as the gate allows breaks no rule of
// the venue, and uses at least 97 % of what the venue would take.
func TestVenuePresets(t *testing.T) {
	span, share := simulated()
	for _, p := range venue.All() {
		t.Run(p.Name, func(t *testing.T) {
			for _, flow := range flowsOf(p) {
				r := trial{preset: p, guard: jitter, flows: [][]string{flow}, span: span, net: wandering(p)}
				got := r.run(t)
				require.Empty(t, got.venue.Breaches(), flow)
				used := got.venue.Utilisation(flow[0])
				require.GreaterOrEqual(t, used, share, flow)
				t.Logf("%-40s sent %6d, refused by the venue 0, the guard costs at most %.2f %%", strings.Join(flow, ", "), got.sent, 100*(1-used))
			}
		})
	}
}

// The same with every class at once, each for itself, over the worst network that
// the bounds allow.
func TestVenuePresetsHarsh(t *testing.T) {
	for _, p := range venue.All() {
		for _, net := range []venuesim.Network{harsh(-clockError, true), harsh(clockError, true), harsh(-clockError, false), harsh(clockError, false)} {
			if ordered(p) && !net.Ordered {
				continue
			}
			r := trial{preset: p, guard: jitter, flows: alone(p), span: 20 * time.Second, net: net}
			got := r.run(t)
			require.Empty(t, got.venue.Breaches(), "%s, %+v", p.Name, net)
			for _, flow := range flowsOf(p) {
				require.GreaterOrEqual(t, got.venue.Utilisation(flow[0]), 0.80, "%s %s", p.Name, flow)
			}
		}
	}
}

// Without the guard, the same sender is caught, wherever messages are counted in
// windows. A bucket may be lucky: its refill has to meet the shortest delay of all.
func TestVenueUnguarded(t *testing.T) {
	caught := map[policy.Window]int{}
	for _, p := range venue.All() {
		for _, flow := range flowsOf(p) {
			r := trial{preset: p, flows: [][]string{flow}, span: time.Minute, net: harsh(-clockError, ordered(p))}
			breaches := r.run(t).venue.Breaches()
			for _, b := range breaches {
				caught[windowOf(p, b.Rule)]++
				t.Logf("%-25s %-40s %-14s refused %d", p.Name, strings.Join(flow, ", "), b.Rule, b.Count)
			}
			m, _ := p.Message(flow[0])
			tightest, _ := p.Policies.Lookup(m.Draws[len(m.Draws)-1].Endpoint)
			if tightest.Limits[0].Window != policy.TokenBucket {
				require.NotEmpty(t, breaches, "%s %s", p.Name, flow)
			}
		}
	}
	for _, w := range []policy.Window{policy.Aligned, policy.FromFirst, policy.Rolling} {
		require.Positive(t, caught[w], w)
	}
}

// windowOf returns how the limit of that name counts.
func windowOf(p venue.Preset, limit string) policy.Window {
	for _, c := range p.Policies {
		for _, l := range c.Limits {
			if l.Label() == limit {
				return l.Window
			}
		}
	}
	return policy.Deny
}
