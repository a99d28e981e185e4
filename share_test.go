package tickgate_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// shared makes a gate whose policy "e" is shared.
func shared(t testing.TB, b tickgate.Budget, limits ...string) (*tickgate.Gate, *tickgate.Ledger, *clock.Manual) {
	g, c := gateWith(t, tickgate.Config{}, policy.Set{{Endpoint: "e", Credit: 4, Limits: limitsOf(t, limits...)}})
	b.Endpoint = "e"
	l, err := g.Share([]tickgate.Budget{b})
	require.NoError(t, err)
	return g, l, c
}

func limitsOf(t testing.TB, texts ...string) []policy.Limit {
	var limits []policy.Limit
	for _, s := range texts {
		l, err := policy.ParseLimit(s)
		require.NoError(t, err)
		limits = append(limits, l)
	}
	return limits
}

// collected returns the accounts that are to be told.
func collected(l *tickgate.Ledger) (all []tickgate.Account) {
	l.Collect(func(a tickgate.Account) { all = append(all, a) })
	return all
}

func only(t testing.TB, l *tickgate.Ledger) tickgate.Account {
	all := collected(l)
	require.Len(t, all, 1)
	return all[0]
}

func takes(g *tickgate.Gate, n int) (allowed int) {
	for range n {
		if g.Allow("k", "e") {
			allowed++
		}
	}
	return allowed
}

func TestShareCreditBoundsWhatIsNotSettled(t *testing.T) {
	g, l, c := shared(t, tickgate.Budget{Mode: tickgate.CreditMode}, "10/s")
	require.Empty(t, collected(l))
	require.False(t, l.Kicked())
	require.Equal(t, 4, takes(g, 9), "the credit is 4, the limit 10")
	require.True(t, l.Kicked())
	d := g.Take("k", "e", 1)
	require.Equal(t, tickgate.Unsettled, d.Reason)
	require.Equal(t, "10/s", d.Limit)
	require.Equal(t, tickgate.DefaultSettle, d.RetryAfter)

	a := only(t, l)
	require.False(t, l.Kicked())
	terms, ok := l.Describe(a)
	require.True(t, ok)
	require.Equal(t, tickgate.Terms{
		APIKey: "k", Endpoint: "e", Limit: "10/s", Tokens: 10, Per: time.Second, Capacity: 10, Credit: 4,
		Mode: tickgate.CreditMode, Gen: 1,
	}, terms)
	u, ok := l.Open(a)
	require.True(t, ok)
	require.Equal(t, tickgate.Usage{Pending: 4, Level: 6_000_000}, u)
	require.False(t, g.Allow("k", "e"), "telling is not settling")

	// Others used 3 of the same budget.
	require.True(t, l.Settle(a, tickgate.Settlement{Used: 4, Level: 3_000_000, Done: true}))
	require.Equal(t, 3, takes(g, 9), "what the common account has")
	require.Equal(t, tickgate.Limited, g.Take("k", "e", 1).Reason)
	c.Advance(100 * time.Millisecond)
	require.Equal(t, 1, takes(g, 9), "it refills, and the credit has one left")
	c.Advance(time.Second)
	require.Zero(t, takes(g, 9), "the credit does not refill")
	u, _ = l.Open(only(t, l))
	require.EqualValues(t, 4, u.Pending)
}

func TestShareSettlesWhatWasUsedMeanwhile(t *testing.T) {
	g, l, _ := shared(t, tickgate.Budget{Mode: tickgate.CreditMode}, "10/s")
	require.Equal(t, 2, takes(g, 2))
	a := only(t, l)
	u, _ := l.Open(a)
	require.EqualValues(t, 2, u.Pending)
	require.Equal(t, 1, takes(g, 1), "while it is under way")
	require.True(t, l.Settle(a, tickgate.Settlement{Used: 2, Level: 5_500_000, Done: true}))
	u, _ = l.Open(a)
	require.Equal(t, tickgate.Usage{Pending: 1, Level: 4_500_000}, u)
	require.True(t, l.Settle(a, tickgate.Settlement{Used: 1, Level: -2_000_000, Done: true}))
	d := g.Take("k", "e", 1)
	require.Equal(t, tickgate.Limited, d.Reason)
	require.Equal(t, 300*time.Millisecond, d.RetryAfter, "a debt of two, and one to take")
}

func TestShareKeepsTheLevel(t *testing.T) {
	g, l, _ := shared(t, tickgate.Budget{Mode: tickgate.CreditMode}, "10/s")
	require.Equal(t, 4, takes(g, 4))
	a := only(t, l)
	l.Open(a)
	require.True(t, l.Settle(a, tickgate.Settlement{Used: 3, Keep: true}))
	require.Equal(t, 3, takes(g, 9))
	u, _ := l.Open(a)
	require.Equal(t, tickgate.Usage{Pending: 4, Level: 3_000_000}, u)
}

func TestShareRefund(t *testing.T) {
	g, l, _ := shared(t, tickgate.Budget{Mode: tickgate.CreditMode}, "10/s")
	h, err := g.Handle("k", "e")
	require.NoError(t, err)
	first, second := h.Take(1), h.Take(2)
	require.True(t, second.Allowed)
	h.Refund(second)
	a := only(t, l)
	u, _ := l.Open(a)
	require.EqualValues(t, 1, u.Pending, "nobody was told of the two")
	h.Refund(first)
	require.True(t, l.Settle(a, tickgate.Settlement{Used: 1, Level: 9_000_000, Done: true}))
	u, _ = l.Open(a)
	require.Zero(t, u.Pending, "somebody was told of the one")
	require.EqualValues(t, 9_000_000, u.Level)
}

func TestShareChargesAreTold(t *testing.T) {
	g, l, _ := shared(t, tickgate.Budget{Mode: tickgate.CreditMode}, "10/s")
	h, err := g.Handle("k", "e")
	require.NoError(t, err)
	h.Charge(7)
	u, _ := l.Open(only(t, l))
	require.Equal(t, tickgate.Usage{Pending: 7, Level: 3_000_000}, u, "a charge asks nobody")
	require.False(t, h.Allow())
}

func TestShareFirst(t *testing.T) {
	g, l, _ := shared(t, tickgate.Budget{Mode: tickgate.CreditMode, First: 2}, "10/s")
	require.Equal(t, 2, takes(g, 9), "until it is settled for the first time")
	a := only(t, l)
	l.Open(a)
	require.True(t, l.Settle(a, tickgate.Settlement{Used: 2, Level: 8_000_000, Done: true}))
	require.Equal(t, 4, takes(g, 9))
	require.True(t, g.AllowN("other", "e", 3), "one call, however large, so that it can pass at all")
	require.False(t, g.Allow("other", "e"))
	l.SetFirst("e", 1)
	require.True(t, g.Allow("third", "e"))
	require.False(t, g.Allow("third", "e"))
	require.Equal(t, tickgate.TooCostly, g.Take("k", "e", 5).Reason, "more than the credit never passes")
}

func TestShareShut(t *testing.T) {
	g, l, _ := shared(t, tickgate.Budget{Mode: tickgate.CreditMode}, "10/s")
	h, err := g.Handle("k", "e")
	require.NoError(t, err)
	l.Shut("e", true)
	l.SetRetry("e", time.Second)
	d := h.Take(1)
	require.Equal(t, tickgate.Unsettled, d.Reason)
	require.Equal(t, time.Second, d.RetryAfter)
	d = g.Take("new", "e", 1)
	require.Equal(t, tickgate.Unsettled, d.Reason, "a new key too")
	require.Equal(t, time.Second, d.RetryAfter)
	require.True(t, h.TakeUrgentAt(0, 1).Allowed, "cancels get out")
	l.Shut("e", false)
	require.True(t, h.Allow())
}

func TestShareLease(t *testing.T) {
	g, l, c := shared(t, tickgate.Budget{Mode: tickgate.LeaseMode}, "10/s")
	d := g.Take("k", "e", 1)
	require.Equal(t, tickgate.Unsettled, d.Reason, "nothing is granted yet")
	a := only(t, l)
	u, ok := l.Open(a)
	require.True(t, ok)
	require.Equal(t, tickgate.Usage{Wants: true}, u)
	until := c.Now() + clock.Time(time.Second)
	require.True(t, l.Settle(a, tickgate.Settlement{Grant: 3, Until: until, Done: true}))
	require.Equal(t, 2, takes(g, 2))
	u, _ = l.Open(a)
	require.Equal(t, tickgate.Usage{Left: 1}, u)
	require.False(t, l.Settle(a, tickgate.Settlement{Grant: -2, Until: until}), "less is left")
	require.True(t, l.Settle(a, tickgate.Settlement{Grant: 1, Until: until}))
	require.Equal(t, 2, takes(g, 9))
	require.True(t, l.Settle(a, tickgate.Settlement{Grant: 5, Until: until, Done: true}))
	c.Set(until - 1)
	require.Equal(t, 1, takes(g, 1))
	c.Set(until)
	require.Zero(t, takes(g, 9), "the lease is over")
	u, _ = l.Open(a)
	require.EqualValues(t, 4, u.Left)
	require.True(t, l.Settle(a, tickgate.Settlement{Grant: -4, Until: until, Done: true}))
	require.False(t, l.Settle(a, tickgate.Settlement{Grant: -1, Until: until, Done: true}))
}

func TestShareRemote(t *testing.T) {
	g, l, _ := shared(t, tickgate.Budget{Mode: tickgate.RemoteMode}, "10/s")
	d := g.Take("k", "e", 1)
	require.Equal(t, tickgate.Unsettled, d.Reason)
	require.Zero(t, g.Stats().Size, "nothing is kept of it")
	h, err := g.Handle("k", "e")
	require.NoError(t, err)
	require.False(t, h.Allow())
	require.Empty(t, collected(l))
	require.Equal(t, tickgate.TooCostly, g.Take("k", "e", 11).Reason)
}

func TestShareSeveralLimits(t *testing.T) {
	g, l, _ := shared(t, tickgate.Budget{Mode: tickgate.CreditMode}, "10/s", "100/m", "3/1s rolling")
	require.Equal(t, 3, takes(g, 9), "the rolling limit is this process's own")
	all := collected(l)
	require.Len(t, all, 2)
	names := map[string]int64{}
	for _, a := range all {
		terms, _ := l.Describe(a)
		u, _ := l.Open(a)
		names[terms.Limit] = u.Pending
	}
	require.Equal(t, map[string]int64{"10/s": 3, "100/m": 3}, names)
}

func TestShareCostsAndGroups(t *testing.T) {
	set := policy.Set{{Endpoint: "e", Credit: 5, Limits: []policy.Limit{
		{Name: "a", Tokens: 10, Per: time.Second}, {Name: "b", Tokens: 20, Per: time.Second},
	}}}
	g, c := gateWith(t, tickgate.Config{}, set)
	l, err := g.Share([]tickgate.Budget{{Endpoint: "e", Mode: tickgate.CreditMode}})
	require.NoError(t, err)
	h, err := g.Handle("k", "e")
	require.NoError(t, err)
	require.True(t, h.TakeCostsAt(c.Now(), 1, tickgate.Cost{Limit: "a", N: 4}).Allowed)
	other, err := g.Handle("o", "e")
	require.NoError(t, err)
	group, err := tickgate.Join(h, other)
	require.NoError(t, err)
	require.True(t, group.TakeAt(c.Now(), 1).Allowed)
	d := group.TakeAt(c.Now(), 1)
	require.Equal(t, tickgate.Unsettled, d.Reason)
	require.Equal(t, "a", d.Limit)
	require.Equal(t, 0, d.Member)
	pending := map[string]int64{}
	for _, a := range collected(l) {
		terms, _ := l.Describe(a)
		u, _ := l.Open(a)
		pending[terms.APIKey+" "+terms.Limit] = u.Pending
	}
	require.Equal(t, map[string]int64{"k a": 5, "k b": 2, "o a": 1, "o b": 1}, pending)
}

func TestShareApply(t *testing.T) {
	g, l, _ := shared(t, tickgate.Budget{Mode: tickgate.CreditMode}, "10/s")
	require.Equal(t, 3, takes(g, 3))
	a := only(t, l)
	require.NoError(t, g.Apply(policy.Set{{Endpoint: "e", Credit: 6, Limits: limitsOf(t, "100/s")}}))
	terms, ok := l.Describe(a)
	require.True(t, ok, "it is the same account")
	require.EqualValues(t, 100, terms.Tokens)
	require.EqualValues(t, 6, terms.Credit)
	u, _ := l.Open(a)
	require.Equal(t, tickgate.Usage{Pending: 3, Level: 97_000_000}, u)
	require.Equal(t, 3, takes(g, 9))
	require.NoError(t, g.Apply(policy.Set{{Endpoint: "e", Credit: 6, Limits: limitsOf(t, "5/s")}}))
	terms, _ = l.Describe(a)
	require.EqualValues(t, 5, terms.Credit, "never more than the capacity")
	err := g.Apply(policy.Set{{Endpoint: "e", Limits: limitsOf(t, "5/s")}})
	require.ErrorContains(t, err, "credit")
	require.NoError(t, g.Apply(policy.Set{}))
	_, ok = l.Describe(a)
	require.False(t, ok)
}

func TestShareEvictionKeepsWhatIsPending(t *testing.T) {
	g, c := gateWith(t, tickgate.Config{MaxKeys: 16}, policy.Set{{Endpoint: "e", Credit: 4, Limits: limitsOf(t, "10/s")}})
	l, err := g.Share([]tickgate.Budget{{Endpoint: "e", Mode: tickgate.CreditMode}})
	require.NoError(t, err)
	require.True(t, g.Allow("k", "e"))
	a := only(t, l)
	u, _ := l.Open(a)
	require.EqualValues(t, 1, u.Pending)
	c.Advance(time.Minute)
	for i := range 12 {
		require.True(t, g.Allow(string(rune('a'+i)), "e"))
	}
	for _, b := range collected(l) {
		if u, ok := l.Open(b); ok && b != a {
			l.Settle(b, tickgate.Settlement{Used: u.Pending, Level: 10_000_000, Done: true})
		}
	}
	c.Advance(time.Minute)
	for i := range 14 {
		require.True(t, g.Allow(string(rune('A'+i)), "e"))
		for _, b := range collected(l) {
			if u, ok := l.Open(b); ok && b != a {
				l.Settle(b, tickgate.Settlement{Used: u.Pending, Level: 10_000_000, Done: true})
			}
		}
		c.Advance(time.Second)
	}
	_, ok := l.Open(a)
	require.True(t, ok, "the limit has long been full, but the account does not know of one token")
	require.Zero(t, g.Stats().Evictions.Forced)
}

func TestShareClose(t *testing.T) {
	g, l, _ := shared(t, tickgate.Budget{Mode: tickgate.CreditMode}, "10/s")
	require.Equal(t, 4, takes(g, 9))
	_, err := g.Share([]tickgate.Budget{{Endpoint: "e", Mode: tickgate.CreditMode}})
	require.ErrorIs(t, err, tickgate.ErrShared)
	a := only(t, l)
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	require.Equal(t, 6, takes(g, 9), "the limit is this process's own again")
	_, ok := l.Open(a)
	require.False(t, ok)
	require.False(t, l.Settle(a, tickgate.Settlement{Used: 1}))
	l, err = g.Share([]tickgate.Budget{{Endpoint: "e", Mode: tickgate.CreditMode}})
	require.NoError(t, err)
	require.Empty(t, collected(l), "what was used before is nobody's business")
}

func TestShareBadBudgets(t *testing.T) {
	g, _ := gateWith(t, tickgate.Config{}, policy.Set{
		{Endpoint: "e", Limits: limitsOf(t, "10/s")},
		{Endpoint: "big", Credit: 1, Limits: limitsOf(t, "100/s burst=2000000000")},
		{Endpoint: "many", Credit: 1, Limits: limitsOf(t, "1/s", "2/s", "3/s", "4/s", "5/s")},
	})
	for _, c := range []struct {
		budgets []tickgate.Budget
		faults  []string
	}{
		{[]tickgate.Budget{{Endpoint: "none", Mode: 9, Credit: -1, First: -1}}, []string{"no policy", "mode", "credit", "first"}},
		{[]tickgate.Budget{{Endpoint: "e", Mode: tickgate.LeaseMode}, {Endpoint: "e", Mode: tickgate.LeaseMode}}, []string{"twice"}},
		{[]tickgate.Budget{{Endpoint: "e", Mode: tickgate.CreditMode}}, []string{"must be at least 1"}},
		{[]tickgate.Budget{{Endpoint: "e", Mode: tickgate.CreditMode, Credit: 1 << 30}}, []string{"2^28"}},
		{[]tickgate.Budget{{Endpoint: "big", Mode: tickgate.CreditMode}, {Endpoint: "many", Mode: tickgate.CreditMode}}, []string{"2^30", "at most 8"}},
	} {
		l, err := g.Share(c.budgets)
		require.Nil(t, l)
		for _, f := range c.faults {
			require.ErrorContains(t, err, f)
		}
		require.True(t, g.Allow("k", "e"), "nothing changed")
	}
}

func TestShareWaits(t *testing.T) {
	g, err := tickgate.New(tickgate.Config{Policies: policy.Set{{Endpoint: "e", Credit: 1, Limits: limitsOf(t, "1000/s")}}})
	require.NoError(t, err)
	l, err := g.Share([]tickgate.Budget{{Endpoint: "e", Mode: tickgate.CreditMode}})
	require.NoError(t, err)
	h, err := g.Handle("k", "e")
	require.NoError(t, err)
	require.True(t, h.Allow())
	done := make(chan error, 1)
	go func() { done <- h.Wait(context.Background(), 1) }()
	for {
		select {
		case err := <-done:
			require.NoError(t, err)
			return
		case <-time.After(time.Millisecond):
			for _, a := range collected(l) {
				if u, ok := l.Open(a); ok {
					l.Settle(a, tickgate.Settlement{Used: u.Pending, Level: 500_000_000, Done: true})
				}
			}
		}
	}
}

// What refills is what time makes of it from the settlement on, not from the last call.
func TestShareSettlesAtTheTimeOfSettle(t *testing.T) {
	g, l, c := shared(t, tickgate.Budget{Mode: tickgate.CreditMode}, "10/s")
	require.Equal(t, 4, takes(g, 4))
	a := only(t, l)
	u, _ := l.Open(a)
	require.EqualValues(t, 4, u.Pending)
	c.Advance(500 * time.Millisecond) // the answer takes long, and nobody asks meanwhile
	require.True(t, l.Settle(a, tickgate.Settlement{Used: 4, Level: 0, Done: true}))
	require.Zero(t, takes(g, 9), "the common account has nothing")
	c.Advance(100 * time.Millisecond)
	require.Equal(t, 1, takes(g, 9))
}

func TestShareOpensAtTheTimeOfOpen(t *testing.T) {
	g, l, c := shared(t, tickgate.Budget{Mode: tickgate.CreditMode}, "10/s")
	require.Equal(t, 4, takes(g, 4))
	a := only(t, l)
	c.Advance(200 * time.Millisecond)
	u, _ := l.Open(a)
	require.EqualValues(t, 8_000_000, u.Level)
}

// What is decided elsewhere is counted once, by who decided.
func TestShareRemoteIsCountedWhereItIsDecided(t *testing.T) {
	g, l, _ := shared(t, tickgate.Budget{Mode: tickgate.RemoteMode}, "10/s")
	endpoint := g.Policies()[0].Endpoint
	require.Equal(t, tickgate.Unsettled, g.Take("k", endpoint, 1).Reason)
	require.False(t, g.Allow("k", endpoint))
	require.Zero(t, g.Stats().Policies[0].Denied)
	l.Decided(endpoint, &tickgate.Decision{Allowed: true})
	l.Decided(endpoint, &tickgate.Decision{Reason: tickgate.Limited})
	s := g.Stats().Policies[0]
	require.EqualValues(t, 1, s.Allowed)
	require.EqualValues(t, 1, s.Denied)

	set := g.Policies()
	set[0].Shadow = true
	require.NoError(t, g.Apply(set))
	require.False(t, g.Take("k", endpoint, 1).Allowed, "elsewhere it may be allowed in earnest")
	d := tickgate.Decision{Reason: tickgate.Limited}
	l.Decided(endpoint, &d)
	require.True(t, d.Allowed)
	require.True(t, d.Shadow)
	require.EqualValues(t, 1, g.Stats().Policies[0].Shadowed)
	require.NoError(t, l.Close())
	require.True(t, g.Allow("k", endpoint))
}

// A change that would have each process decide alone is refused, and nothing is changed.
func TestShareApplyRefusesWhatEndsTheSharing(t *testing.T) {
	g, l, _ := shared(t, tickgate.Budget{Mode: tickgate.CreditMode}, "10/m")
	set := func(limits ...string) policy.Set {
		return policy.Set{{Endpoint: "e", Credit: 4, Limits: limitsOf(t, limits...)}}
	}
	for _, window := range []string{"10/m rolling", "10/m aligned", "10/m from-first"} {
		require.ErrorContains(t, g.Apply(set(window)), "policies(e).limits", window)
	}
	other := policy.Policy{Endpoint: "new", Credit: 2, Limits: limitsOf(t, "10/m")}
	require.ErrorContains(t, g.Apply(append(set("10/m"), other)), "policies(new).credit")
	require.Equal(t, 4, takes(g, 9), "as before")

	other.Credit = 0
	require.NoError(t, g.Apply(append(set("10/m", "100/h rolling"), other)), "a bucket is shared, and windows beside it")
	other.Credit = 2
	require.NoError(t, g.Apply(append(set("10/m"), other)), "it is here, and known to decide alone")
	require.NoError(t, l.Close())
	require.NoError(t, g.Apply(set("10/m rolling")))
	_, err := g.Share([]tickgate.Budget{{Endpoint: "e", Mode: tickgate.CreditMode}})
	require.ErrorContains(t, err, "policies(e).limits")
}
