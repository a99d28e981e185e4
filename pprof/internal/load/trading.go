package load

import (
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// trading are the paths of trading: windows, several limits, several keys.
func trading() []Case {
	allowAt := func(h tickgate.Handle, now clock.Time) bool { return h.AllowAt(now, 1) }
	takeAt := func(h tickgate.Handle, now clock.Time) bool { return h.TakeAt(now, 1).Allowed }
	return []Case{
		handled("aligned", "handle-allow-at", Some, allowAt, "2000000/s aligned"),
		handled("from-first", "handle-allow-at", Some, allowAt, "2000000/s from-first"),
		handled("rolling", "handle-allow-at", Some, allowAt, "1000/900us rolling"),
		handled("rolling", "handle-take-at", Some, takeAt, "10/8us rolling"),
		handled("two limits", "handle-take-at", Some, takeAt, "2000000/s", "200000000/m"),
		handled("rate and windows", "handle-take-at", Some, takeAt, "2000000/s", "200000000/m", "1000/900us rolling", "2000000/s aligned"),
		handled("reserve", "take-urgent-at", Some, func(h tickgate.Handle, now clock.Time) bool {
			return h.TakeUrgentAt(now, 1).Allowed
		}, "2000000/s reserve=100"),
		handled("reserve", "take-costs-at", Some, func(h tickgate.Handle, now clock.Time) bool {
			return h.TakeCostsAt(now, 1, tickgate.Cost{Limit: "limit1", N: 2}).Allowed
		}, "4000000/s", "200000000/m"),
		joined("rate", "join-allow-at", func(g tickgate.Group, now clock.Time) bool { return g.AllowAt(now, 1) }, "2000000/s"),
		joined("rate", "join-take-at", func(g tickgate.Group, now clock.Time) bool { return g.TakeAt(now, 1).Allowed }, "2000000/s"),
		joined("aligned", "join-urgent", func(g tickgate.Group, now clock.Time) bool { return g.TakeUrgentAt(now, 1).Allowed }, "2000000/s aligned"),
		{"credit", "handle-allow, shared", Some, shared(tickgate.CreditMode)},
		{"lease", "handle-allow, shared", Some, shared(tickgate.LeaseMode)},
		{"shadow", "gate-take", Allowed, shadowed},
	}
}

// joined is a case of a group of three keys.
func joined(name, path string, allow func(tickgate.Group, clock.Time) bool, limits ...string) Case {
	return Case{name, path, Some, func(int) (*Driver, error) {
		g, d, err := open(0, limits...)
		if err != nil {
			return nil, err
		}
		hs, err := d.handles(g, "session-0001", "account-0001", "firm")
		if err != nil {
			return nil, err
		}
		group, err := tickgate.Join(hs...)
		if err != nil {
			return nil, err
		}
		d.Calls = stepped(func(now clock.Time) bool { return allow(group, now) })
		return d, nil
	}}
}

// shared decides on a budget that is shared with other processes. Its account is
// settled every millisecond, as if nobody else used any.
func shared(mode tickgate.BudgetMode) func(int) (*Driver, error) {
	const credit = 1 << 20 // tokens
	return func(int) (*Driver, error) {
		g, d, err := open(0, "1000000000/s")
		if err != nil {
			return nil, err
		}
		ledger, err := g.Share([]tickgate.Budget{{Endpoint: endpoint, Mode: mode, Credit: credit}})
		if err != nil {
			return nil, err
		}
		hs, err := d.handles(g, names("", 1)...)
		if err != nil {
			return nil, err
		}
		d.Calls = timed(func(clock.Time) bool { return hs[0].Allow() })
		now := clock.Default().Now
		d.Beside = func(stop <-chan struct{}) error {
			every := time.NewTicker(time.Millisecond)
			defer every.Stop()
			for {
				ledger.Collect(func(a tickgate.Account) {
					u, ok := ledger.Open(a)
					s := tickgate.Settlement{Used: u.Pending, Level: u.Level, Done: true}
					if mode == tickgate.LeaseMode {
						s.Grant, s.Until = max(0, credit-u.Left), now().Add(time.Minute)
					}
					if ok {
						ledger.Settle(a, s)
					}
				})
				select {
				case <-stop:
					return ledger.Close()
				case <-every.C:
				}
			}
		}
		return d, nil
	}
}

// shadowed asks a policy that would deny, and lets pass.
func shadowed(workers int) (*Driver, error) {
	p := policyOf(endpoint, narrow)
	p.Shadow = true
	g, d, err := openConfig(tickgate.Config{Policies: policy.Set{p}})
	if err != nil {
		return nil, err
	}
	d.Calls = each(workers, names("", 64), func(k string) bool { return g.Take(k, endpoint, 1).Allowed })
	return d, nil
}
