package refmodel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

// 5/s with 2 reserved: 4 orders, then 3 cancels; or 2 of each and one order more.
func TestReserve(t *testing.T) {
	for _, w := range []policy.Window{policy.TokenBucket, policy.Aligned, policy.FromFirst, policy.Rolling} {
		t.Run(w.String(), func(t *testing.T) {
			b := NewBucket(Limit{Tokens: 5, Per: second, Capacity: 5, Window: w, Reserve: 2})
			for i, ok := range []bool{true, true, true, false} {
				require.Equal(t, ok, b.TakeAt(0, 1).Allowed, "order %d", i)
			}
			d := b.Peek(0)
			require.True(t, d.Allowed)
			require.Zero(t, d.Remaining)
			require.Equal(t, int64(2), b.TakeUrgentAt(0, 0).Remaining)
			for i, ok := range []bool{true, true, false} {
				require.Equal(t, ok, b.TakeUrgentAt(0, 1).Allowed, "cancel %d", i)
			}
			require.False(t, b.Peek(0).Allowed, "above what a call without urgency sees")
			require.True(t, b.TakeUrgentAt(0, 0).Allowed)

			d = b.TakeAt(0, 4)
			require.True(t, d.TooCostly)
			require.Equal(t, Never, d.RetryAfter)
			require.False(t, b.TakeUrgentAt(0, 5).TooCostly)
			require.True(t, b.TakeUrgentAt(0, 6).TooCostly)
		})
	}
	b := New(5, second, 5)
	b.ApplyLimit(0, Limit{Tokens: 5, Per: second, Capacity: 5, Reserve: 2})
	b.TakeUrgentAt(0, 5)
	require.Equal(t, ms(200), b.TakeUrgentAt(0, 1).RetryAfter)
	require.Equal(t, ms(600), b.TakeAt(0, 1).RetryAfter)
}

func weighed() *Multi {
	orders, weight := alignedOf(3, 10*second), alignedOf(10, 60*second)
	orders.Name, weight.Name = "orders", "weight"
	return NewMulti(orders, weight)
}

func TestCosts(t *testing.T) {
	m := weighed()
	d := m.TakeCosts(0, 1, map[string]int64{"weight": 5, "gone": 7})
	require.True(t, d.Allowed)
	require.Equal(t, "orders", d.Limit)
	require.Equal(t, int64(2), d.Remaining)
	require.Equal(t, "5/1", m.Used(0, "weight").String())

	d = m.TakeCosts(0, 1, map[string]int64{"weight": 6})
	require.False(t, d.Allowed)
	require.Equal(t, "weight", d.Limit)
	require.Equal(t, ms(60_000), d.RetryAfter)
	require.Equal(t, "1/1", m.Used(0, "orders").String(), "all or nothing")

	d = m.TakeCosts(0, 1, map[string]int64{"weight": 11})
	require.True(t, d.TooCostly)
	require.Equal(t, "weight", d.Limit)
	require.True(t, m.TakeCosts(0, 1, map[string]int64{"weight": -1}).TooCostly)
	require.True(t, m.TakeCosts(0, -1, map[string]int64{"weight": 1}).TooCostly)

	// A limit at no cost is left out, also when it is full.
	m.Charge(0, 2)
	require.Zero(t, m.Peek(0).Remaining)
	d = m.TakeCosts(0, 1, map[string]int64{"orders": 0})
	require.True(t, d.Allowed)
	require.Equal(t, "weight", d.Limit)
	require.Equal(t, int64(2), d.Remaining)
	require.True(t, m.TakeCosts(0, 0, map[string]int64{"weight": 2}).Allowed)
	d = m.TakeCosts(0, 0, map[string]int64{"weight": 0})
	require.True(t, d.Allowed)
	require.Empty(t, d.Limit)
	require.Equal(t, int64(math.MaxInt64), d.Remaining)

	// A refund gives back to each what it paid.
	m = weighed()
	d = m.Take(0, Call{N: 1, Costs: map[string]int64{"weight": 10}, Urgent: true})
	m.Refund(0, d.Receipt)
	require.Zero(t, m.Used(0, "orders").Sign())
	require.Zero(t, m.Used(0, "weight").Sign())
}

func TestGateTakesCalls(t *testing.T) {
	g := NewGate(Limits{Default: {{Name: "a", Tokens: 5, Per: second, Window: policy.Rolling, Reserve: 4}}})
	require.True(t, g.Take(0, "k", "e", Call{Costs: map[string]int64{"a": 1}}).Allowed)
	require.Equal(t, 1, g.Len())
	require.False(t, g.TakeAt(0, "k", "e", 1).Allowed)
	require.True(t, g.Take(0, "k", "e", Call{N: 4, Urgent: true}).Allowed)
}
