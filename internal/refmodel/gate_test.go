package refmodel

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMultiAllOrNothing(t *testing.T) {
	m := NewMulti(
		Limit{Name: "hour", Tokens: 4, Per: 3600 * second, Capacity: 4},
		Limit{Name: "minute", Tokens: 2, Per: 60 * second, Capacity: 2},
	)
	passed := 0
	for range 6 {
		if m.TakeAt(0, 1).Allowed {
			passed++
		}
	}
	require.Equal(t, 2, passed)
	require.Equal(t, "2/1", m.Used(0, "hour").String())
	require.Equal(t, "2/1", m.Used(0, "minute").String())
	require.Panics(t, func() { m.Used(0, "day") })
	require.Panics(t, func() {
		NewMulti(Limit{Name: "a", Tokens: 1, Per: 1, Capacity: 1}, Limit{Name: "a", Tokens: 1, Per: 1, Capacity: 1})
	})
}

// A denial is by the limit that denies longest; what passes is told of the one
// with the fewest tokens left.
func TestMultiNamesTheTightest(t *testing.T) {
	m := NewMulti(
		Limit{Name: "burst", Tokens: 10, Per: second, Capacity: 5},
		Limit{Name: "rate", Tokens: 1, Per: second, Capacity: 6},
		Limit{Name: "wide", Tokens: 1, Per: second, Capacity: 6},
	)
	d := m.TakeAt(0, 2)
	require.Equal(t, "burst", d.Limit)
	require.Equal(t, int64(3), d.Remaining)
	require.Equal(t, ms(200), d.ResetAfter)

	d = m.TakeAt(0, 6)
	require.True(t, d.TooCostly)
	require.Equal(t, "burst", d.Limit, "above its capacity")
	require.Equal(t, Never, d.RetryAfter)

	d = m.TakeAt(0, 5)
	require.False(t, d.Allowed)
	require.Equal(t, "rate", d.Limit, "among equals the first")
	require.Equal(t, ms(1000), d.RetryAfter)
	require.Equal(t, int64(4), d.Remaining)
	require.Equal(t, ms(2000), d.ResetAfter)
	require.True(t, m.TakeAt(at(1000), 5).Allowed)

	d = m.TakeAt(at(1100), 0)
	require.True(t, d.Allowed)
	require.Equal(t, "rate", d.Limit)
	require.Zero(t, d.Remaining)

	m.Charge(at(1100), 10) // burst owes 9 of 10/s, rate 9.9 of 1/s
	d = m.Peek(at(1100))
	require.False(t, d.Allowed)
	require.Equal(t, "rate", d.Limit)
	require.Equal(t, ms(9900), d.RetryAfter)
	m.Credit(at(1100), 100)
	require.Equal(t, int64(5), m.Peek(at(1100)).Remaining)
}

func TestMultiWithoutLimits(t *testing.T) {
	d := NewMulti().TakeAt(0, math.MaxInt64)
	require.True(t, d.Allowed)
	require.Equal(t, int64(math.MaxInt64), d.Remaining)
	require.Empty(t, d.Limit)
}

func TestMultiApply(t *testing.T) {
	a := Limit{Name: "a", Tokens: 1, Per: second, Capacity: 10}
	b := Limit{Name: "b", Tokens: 1, Per: second, Capacity: 10}
	m := NewMulti(a)
	d := m.TakeAt(0, 4)
	a.Capacity = 20
	m.Apply(at(1000), b, a)
	require.Equal(t, "3/1", m.Used(at(1000), "a").String())
	require.Equal(t, "0/1", m.Used(at(1000), "b").String(), "a new limit is full")
	m.TakeAt(at(1000), 1)
	m.Refund(at(1000), d.Receipt)
	require.Equal(t, "1/1", m.Used(at(1000), "a").String())
	require.Equal(t, "1/1", m.Used(at(1000), "b").String(), "it was not charged then")
	m.Apply(at(1000), b)
	m.Apply(at(1000), a)
	require.Equal(t, "0/1", m.Used(at(1000), "a").String(), "it was gone")
}

func TestGate(t *testing.T) {
	one := []Limit{{Name: "one", Tokens: 1, Per: second, Capacity: 1}}
	two := []Limit{{Name: "two", Tokens: 1, Per: second, Capacity: 2}}
	g := NewGate(Limits{"order": one, Default: two})
	require.Equal(t, int64(2), g.TakeAt(0, "k", "x", 0).Remaining)
	require.Zero(t, g.Len(), "looking brings nothing in")

	require.True(t, g.TakeAt(0, "k", "order", 1).Allowed)
	require.False(t, g.TakeAt(0, "k", "order", 1).Allowed)
	require.True(t, g.TakeAt(0, "l", "order", 1).Allowed, "another apikey")
	d := g.TakeAt(0, "k", "x", 2)
	require.True(t, d.Allowed)
	require.True(t, g.TakeAt(0, "k", "y", 2).Allowed, "another endpoint")
	require.Equal(t, 4, g.Len())

	g.Refund(0, "k", "x", d.Receipt)
	require.Equal(t, int64(2), g.TakeAt(0, "k", "x", 0).Remaining)
	g.Charge(0, "k", "x", 3)
	require.Equal(t, ms(1000), g.TakeAt(0, "k", "x", 0).RetryAfter)
	g.Credit(0, "k", "x", 2)
	require.Equal(t, int64(1), g.TakeAt(0, "k", "x", 0).Remaining)

	g.Apply(0, Limits{"x": two, "order": one})
	require.Equal(t, 3, g.Len(), "nothing holds for y any more")
	require.Equal(t, int64(1), g.TakeAt(0, "k", "x", 0).Remaining)
	require.False(t, g.TakeAt(0, "k", "y", 0).Allowed)
	require.Equal(t, Never, g.TakeAt(0, "k", "y", 1).RetryAfter)

	require.False(t, g.TakeAt(0, "k", "order", 1).Allowed)
	g.Forget("k", "order")
	require.True(t, g.TakeAt(0, "k", "order", 1).Allowed)
}

func TestGateTogether(t *testing.T) {
	g := NewGate(Limits{Default: {{Name: "a", Tokens: 1, Per: 3600 * second, Capacity: 50}}})
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if g.TakeAt(0, "k", "e", 1).Allowed {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(50), passed.Load())
}
