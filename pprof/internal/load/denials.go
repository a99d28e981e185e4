package load

import (
	"strings"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// denials are calls that are denied, for every reason but Full, which is in churn.
func denials() []Case {
	allowAt := func(h tickgate.Handle, now clock.Time) bool { return h.AllowAt(now, 1) }
	takeAt := func(h tickgate.Handle, now clock.Time) bool { return h.TakeAt(now, 1).Allowed }
	return []Case{
		denied("limited", "handle-allow-at", nil, allowAt),
		denied("limited", "handle-take-at", nil, takeAt),
		denied("limited", "take-urgent-at", nil, func(h tickgate.Handle, now clock.Time) bool { return h.TakeUrgentAt(now, 1).Allowed }),
		denied("too costly", "handle-take-at", nil, func(h tickgate.Handle, now clock.Time) bool { return h.TakeAt(now, 2).Allowed }),
		denied("bad request", "handle-take-at", nil, func(h tickgate.Handle, now clock.Time) bool { return h.TakeAt(now, -1).Allowed }),
		denied("blocked", "handle-take-at", func(g *tickgate.Gate, _ tickgate.Handle) { g.Block("") }, takeAt),
		denied("banned", "handle-allow-at", func(_ *tickgate.Gate, h tickgate.Handle) {
			h.Ban(clock.Default().Now().Add(24 * time.Hour))
		}, allowAt),
		denied("rolling", "handle-take-at", nil, takeAt, "1/d rolling"),
		keyed("limited", "gate-allow", Denied, hotKeys, []string{narrow}, func(g *tickgate.Gate) (func(string) bool, error) {
			return func(k string) bool { return g.Allow(k, endpoint) }, nil
		}),
		keyed("limited", "gate-take", Denied, hotKeys, []string{narrow}, func(g *tickgate.Gate) (func(string) bool, error) {
			return func(k string) bool { return g.Take(k, endpoint, 1).Allowed }, nil
		}),
		keyed("no policy", "gate-take", Denied, 1, []string{narrow}, func(g *tickgate.Gate) (func(string) bool, error) {
			return func(k string) bool { return g.Take(k, "unlisted", 1).Allowed }, nil
		}),
		keyed("bad request", "gate-take", Denied, 1, []string{narrow}, func(g *tickgate.Gate) (func(string) bool, error) {
			long := strings.Repeat("k", 257)
			return func(string) bool { return g.Take(long, endpoint, 1).Allowed }, nil
		}),
		keyed("unsettled", "gate-take", Denied, hotKeys, []string{narrow}, func(g *tickgate.Gate) (func(string) bool, error) {
			_, err := g.Share([]tickgate.Budget{{Endpoint: endpoint, Mode: tickgate.RemoteMode}})
			return func(k string) bool { return g.Take(k, endpoint, 1).Allowed }, err
		}),
		{"limited", "join-take-at", Denied, func(int) (*Driver, error) {
			g, d, err := openConfig(tickgate.Config{Policies: policy.Set{policyOf(endpoint, narrow)}})
			if err != nil {
				return nil, err
			}
			hs, err := d.handles(g, "session", "account", "firm")
			if err != nil {
				return nil, err
			}
			group, err := tickgate.Join(hs...)
			if err != nil {
				return nil, err
			}
			hs[2].Allow()
			d.Calls = timed(func(now clock.Time) bool { return group.TakeAt(now, 1).Allowed })
			return d, nil
		}},
	}
}

// denied is a case of a handle that has nothing left, and in which prepare, if it is
// not nil, has been called.
func denied(name, path string, prepare func(*tickgate.Gate, tickgate.Handle), allow func(tickgate.Handle, clock.Time) bool, limits ...string) Case {
	if limits == nil {
		limits = []string{narrow}
	}
	return Case{name, path, Denied, func(int) (*Driver, error) {
		g, d, err := open(0, limits...)
		if err != nil {
			return nil, err
		}
		hs, err := d.handles(g, names("", 1)...)
		if err != nil {
			return nil, err
		}
		hs[0].Allow()
		if prepare != nil {
			prepare(g, hs[0])
		}
		d.Calls = timed(func(now clock.Time) bool { return allow(hs[0], now) })
		return d, nil
	}}
}
