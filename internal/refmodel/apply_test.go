package refmodel

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

// 8 of 10 used, the capacity to 5 leaves 0, and back to 10 leaves 2.
func TestApplyMovesTheLevelByCapacity(t *testing.T) {
	for _, w := range []policy.Window{policy.TokenBucket, policy.Aligned, policy.FromFirst, policy.Rolling} {
		t.Run(w.String(), func(t *testing.T) {
			l := Limit{Tokens: 10, Per: 3600 * second, Capacity: 10, Window: w}
			b := NewBucket(l)
			d := b.TakeAt(0, 8)
			l.Tokens, l.Capacity = 5, 5
			b.ApplyLimit(0, l)
			require.Zero(t, b.Peek(0).Remaining)
			require.False(t, b.TakeAt(0, 1).Allowed)
			l.Tokens, l.Capacity, l.Reserve = 10, 10, 1
			b.ApplyLimit(0, l)
			require.Equal(t, int64(1), b.Peek(0).Remaining)
			require.Equal(t, int64(2), b.TakeUrgentAt(0, 0).Remaining)
			b.Refund(0, d.Receipt)
			require.Zero(t, b.Used(0).Sign())
		})
	}
}

// A window of the same kind and period keeps when it ends.
func TestApplyKeepsDates(t *testing.T) {
	for _, l := range []Limit{alignedOf(10, second), fromFirstOf(10, second), rollingOf(10, second)} {
		b := NewBucket(l)
		b.TakeAt(0, 8)
		l.Tokens, l.Skew = 4, ms(100)
		b.ApplyLimit(at(500), l)
		require.Equal(t, ms(600), b.TakeAt(at(500), 1).RetryAfter, "%v", l.Window)
	}
	// What is over is not brought back by more skew.
	l := alignedOf(10, second)
	b := NewBucket(l)
	b.TakeAt(0, 8)
	l.Skew = ms(100)
	b.ApplyLimit(at(1050), l)
	require.Equal(t, int64(10), b.Peek(at(1050)).Remaining)
}

// What is used at a change of the kind or the period stays used: rounded up, and
// as of the change.
func TestApplyOfAnotherWindow(t *testing.T) {
	kinds := []policy.Window{policy.TokenBucket, policy.Aligned, policy.FromFirst, policy.Rolling}
	for _, from := range kinds {
		for _, to := range kinds {
			t.Run(from.String()+" to "+to.String(), func(t *testing.T) {
				b := NewBucket(Limit{Tokens: 10, Per: 10 * second, Capacity: 10, Window: from})
				d := b.TakeAt(0, 8)
				used := big.NewRat(8, 1)
				if from == policy.TokenBucket {
					used = big.NewRat(65, 10) // 1500 ms at 1/s
				}
				require.Zero(t, b.Used(at(1500)).Cmp(used))
				b.ApplyLimit(at(1500), Limit{Tokens: 10, Per: 4 * second, Capacity: 10, Window: to})
				if from == policy.TokenBucket && to != from {
					used = big.NewRat(7, 1)
				}
				require.Zero(t, b.Used(at(1500)).Cmp(used), b.Used(at(1500)))
				over := map[policy.Window]int64{policy.Aligned: 4000, policy.FromFirst: 5500, policy.Rolling: 5500}[to]
				if to == policy.TokenBucket {
					f, _ := used.Float64()
					over = 1500 + int64(f*400)
				}
				require.Equal(t, ms(over-1500), b.Peek(at(1500)).ResetAfter)
				if to != policy.TokenBucket {
					require.Equal(t, ms(over-1500), b.TakeAt(at(1500), 10).RetryAfter)
				}
				if from != to || from != policy.TokenBucket {
					b.Refund(at(1500), d.Receipt)
					require.Zero(t, b.Used(at(1500)).Cmp(used), "it is not the limit that was taken from")
				}
				require.Equal(t, int64(10), b.Peek(at(over)).Remaining)
			})
		}
	}
}

// A limit that was gone is another one when it comes back.
func TestApplyOfALimitThatWasGone(t *testing.T) {
	for _, w := range []policy.Window{policy.TokenBucket, policy.Aligned, policy.FromFirst, policy.Rolling} {
		l := Limit{Name: "a", Tokens: 10, Per: second, Capacity: 10, Window: w}
		m := NewMulti(l)
		d := m.TakeAt(0, 4)
		m.Apply(0)
		m.Apply(0, l)
		m.Charge(0, 3)
		m.Refund(0, d.Receipt)
		require.Equal(t, "3/1", m.Used(0, "a").String(), w)
	}
}

// Nothing used opens nothing.
func TestApplyOfAnUnusedLimit(t *testing.T) {
	b := New(10, second, 10)
	b.ApplyLimit(at(100), fromFirstOf(10, second))
	require.True(t, b.TakeAt(at(900), 10).Allowed)
	require.Equal(t, ms(1000), b.TakeAt(at(900), 1).RetryAfter)

	m := NewMulti()
	m.TakeAt(at(100), 1)
	a, c := alignedOf(10, second), rollingOf(10, second)
	a.Name, c.Name = "a", "c"
	m.Apply(at(50), a)
	m.Apply(at(60), a, c)
	a.Per *= 2
	m.Apply(at(70), a, c)
	require.True(t, m.TakeAt(at(100), 10).Allowed)
}

func TestInvalidLimits(t *testing.T) {
	for _, l := range []Limit{
		{Tokens: 10, Per: 10},
		{Tokens: 10, Per: 10, Capacity: 20, Window: policy.Rolling},
		{Tokens: 0, Per: 10, Window: policy.Rolling},
		{Tokens: 10, Per: 10, Window: policy.Aligned, Skew: 5},
		{Tokens: 10, Per: 10, Window: policy.FromFirst, Skew: 5},
		{Tokens: 10, Per: 10, Window: policy.Rolling, Skew: -1},
		{Tokens: 10, Per: 10, Capacity: 10, Skew: 1},
		{Tokens: 10, Per: 10, Capacity: 10, Reserve: 10},
		{Tokens: 10, Per: 10, Window: policy.Rolling, Reserve: -1},
		{Tokens: 10, Per: 10, Window: policy.Deny},
		{Tokens: 10, Per: 10, Window: policy.Unlimited},
	} {
		require.Panics(t, func() { NewBucket(l) }, "%+v", l)
	}
	NewBucket(Limit{Tokens: 10, Per: 10, Window: policy.Aligned, Skew: 4})
	NewBucket(Limit{Tokens: 10, Per: 10, Window: policy.Rolling, Skew: 50, Reserve: 9})
}
