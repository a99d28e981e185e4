package refmodel

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

func TestMixedWindowsAllOrNothing(t *testing.T) {
	limits := []Limit{
		{Name: "bucket", Tokens: 10, Per: second, Capacity: 20},
		{Name: "aligned", Tokens: 15, Per: 10 * second, Window: policy.Aligned},
		{Name: "first", Tokens: 14, Per: 3 * second, Window: policy.FromFirst},
		{Name: "rolling", Tokens: 10, Per: second, Window: policy.Rolling},
	}
	m := NewMulti(limits...)
	d := m.TakeAt(at(500), 10)
	require.True(t, d.Allowed)
	require.Equal(t, "rolling", d.Limit)

	d = m.TakeAt(at(500), 4)
	require.False(t, d.Allowed)
	require.Equal(t, "rolling", d.Limit)
	require.Equal(t, ms(1000), d.RetryAfter)
	require.Equal(t, "first", m.TakeAt(at(500), 5).Limit)
	d = m.TakeAt(at(500), 6)
	require.Equal(t, "aligned", d.Limit, "it denies longest")
	require.Equal(t, ms(9500), d.RetryAfter)
	require.Equal(t, int64(5), d.Remaining)
	for _, l := range limits {
		require.Equal(t, "10/1", m.Used(at(500), l.Name).String(), l.Name)
	}
	require.True(t, m.TakeAt(at(1500), 4).Allowed)
	require.Equal(t, "aligned", m.TakeAt(at(3500), 2).Limit)
	require.True(t, m.TakeAt(at(3500), 1).Allowed)
}

// A window that lets a call pass now is shut when the other limit would: the call
// passes when both do.
func TestMixedWindowsWaitForBoth(t *testing.T) {
	m := NewMulti(
		Limit{Name: "bucket", Tokens: 1, Per: second, Capacity: 1},
		Limit{Name: "first", Tokens: 10, Per: second, Skew: ms(100), Window: policy.FromFirst},
	)
	require.True(t, m.TakeAt(0, 1).Allowed)
	d := m.TakeAt(0, 1)
	require.Equal(t, "first", d.Limit)
	require.Equal(t, ms(1100), d.RetryAfter)
	require.Equal(t, int64(9), d.Remaining)
	require.False(t, m.TakeAt(at(1100)-1, 1).Allowed)
	require.True(t, m.TakeAt(at(1100), 1).Allowed)
}

// history is a random key that can be built again, to look into its future.
type history struct {
	limits []Limit
	calls  []func(*Multi)
	ahead  int64 // of the wall clock
}

func (h *history) wall(t clock.Time) int64 { return int64(t) + h.ahead }

func randomHistory(r *rand.Rand) *history {
	h := &history{}
	for i := range 1 + r.IntN(3) {
		l := Limit{
			Name:   fmt.Sprint(i),
			Tokens: 1 + r.Int64N(8), Per: 3 + r.Int64N(40),
			Window: policy.Window(r.IntN(4)), Wall: h.wall,
		}
		l.Capacity = l.Tokens
		if l.Window == policy.TokenBucket {
			l.Capacity = 1 + r.Int64N(12)
		} else {
			l.Skew = time.Duration(r.Int64N((l.Per + 1) / 2))
		}
		if r.IntN(2) == 0 {
			l.Reserve = r.Int64N(l.Capacity)
		}
		h.limits = append(h.limits, l)
	}
	return h
}

// again plays the history on a new key.
func (h *history) again() *Multi {
	m := NewMulti(h.limits...)
	h.ahead = 0
	for _, c := range h.calls {
		c(m)
	}
	return m
}

// Asking again at exactly RetryAfter passes if nobody else took, and at no time
// before; at ResetAfter nothing is counted of the limit that decided, and before
// that always something; a denial and a look leave everything as it was.
func TestHintsAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	for range 150 {
		h := randomHistory(r)
		now := clock.Time(r.Int64N(100) - 50)
		var receipts []Receipt
		for range 25 {
			now += clock.Time(r.Int64N(12) * r.Int64N(2))
			at, n := now, r.Int64N(5)
			c := Call{N: n, Urgent: r.IntN(3) == 0}
			if r.IntN(3) == 0 {
				c.Costs = map[string]int64{"0": r.Int64N(6)}
			}
			kind := r.IntN(12)
			i := len(receipts)
			receipts = append(receipts, Receipt{})
			back := r.IntN(i + 1)
			step := r.Int64N(60) - 30
			h.calls = append(h.calls, func(m *Multi) {
				switch kind {
				case 0:
					m.Charge(at, n)
				case 1:
					m.Credit(at, n)
				case 2:
					m.Refund(at, receipts[back])
				case 3:
					h.ahead += step
				default:
					receipts[i] = m.Take(at, c).Receipt
				}
			})
			// The look ahead is at a time that comes no earlier than the last call.
			m := h.again()
			d := m.Take(now, c)
			require.Equal(t, d.Allowed, d.RetryAfter == 0)
			if d.Allowed || d.TooCostly || d.RetryAfter > 500 {
				continue // the last is a slow bucket in deep debt
			}
			for w := range d.RetryAfter {
				require.False(t, m.Take(now+clock.Time(w), c).Allowed, "%v of %v: %+v", w, d.RetryAfter, h.limits)
			}
			require.True(t, m.Take(now+clock.Time(d.RetryAfter), c).Allowed, "%v: %+v", d.RetryAfter, h.limits)

			m = h.again()
			require.Equal(t, d, m.Take(now, c))
			for w := range d.ResetAfter {
				used := m.Used(now+clock.Time(w), d.Limit).Sign() > 0
				require.True(t, used || h.shut(d.Limit), "%v of %v: %+v", w, d.ResetAfter, h.limits)
			}
			require.Zero(t, m.Used(now+clock.Time(d.ResetAfter), d.Limit).Sign())
		}
	}
}

// shut reports whether a limit may pass nothing though it counts nothing.
func (h *history) shut(limit string) bool {
	for _, l := range h.limits {
		if l.Name == limit {
			return l.Window == policy.FromFirst && l.Skew > 0
		}
	}
	return false
}
