package refmodel

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// Late callers are served at the newest time, and wait longer by their lateness.
func TestLateCallers(t *testing.T) {
	b := New(10, second, 10)
	passed := 0
	for i := range int64(200) {
		if b.TakeAt(at(1000*(1-i%2)), 1).Allowed {
			passed++
		}
	}
	require.Equal(t, 10, passed)
	d := b.TakeAt(at(400), 1)
	require.Equal(t, at(1000), d.At)
	require.Equal(t, ms(600+100), d.RetryAfter)
	require.Equal(t, ms(600+1000), d.ResetAfter)

	// What others left is there for them, without a wait.
	b = New(10, second, 10)
	b.Peek(at(1000))
	d = b.TakeAt(0, 10)
	require.True(t, d.Allowed)
	require.Zero(t, d.RetryAfter)
	require.Equal(t, ms(2000), d.ResetAfter)
}

func TestSetBack(t *testing.T) {
	b := New(10, second, 10).SetBack()
	hour := int64(3_600_000)
	require.True(t, b.TakeAt(at(hour), 10).Allowed)

	// An hour back: the next token comes within a token's time of the new time.
	d := b.TakeAt(0, 1)
	require.False(t, d.Allowed)
	require.Equal(t, ms(100), d.RetryAfter)
	require.False(t, b.TakeAt(at(99), 1).Allowed)
	require.True(t, b.TakeAt(at(100), 1).Allowed)

	// Whoever still has the old time is late by what has passed since.
	d = b.TakeAt(at(hour), 1)
	require.False(t, d.Allowed)
	require.Equal(t, at(hour+100), d.At)
	require.Equal(t, ms(200), d.RetryAfter)

	// Old and new time in turn mint nothing: the key is at the newer of the two.
	passed := 0
	for i := range int64(100) {
		if b.TakeAt(at(hour+100+10*i), 1).Allowed {
			passed++
		}
		if b.TakeAt(at(100+10*i), 1).Allowed {
			passed++
		}
	}
	require.Equal(t, 9, passed) // 990 ms at 10/s

	// Without the rule the key waits for the old time to come again.
	b = New(10, second, 10)
	require.True(t, b.TakeAt(at(hour), 10).Allowed)
	require.False(t, b.TakeAt(at(5000), 1).Allowed)
}

func TestAxis(t *testing.T) {
	step := clock.Time(StepBack)
	a := axis{setBack: true}
	for i, s := range []struct {
		now, at clock.Time
		late    time.Duration
	}{
		{-5, -5, 0},                           // the first time is the key's
		{-9, -5, 4},                           // late
		{1000, 1000, 0},                       // later
		{1000 - step + 1, 1000, StepBack - 1}, // late, just so
		{1000 - 2*step, 1000, 0},              // set back: from here on it is 2 steps more
		{1001 - 2*step, 1001, 0},              // continues
		{999 - 2*step, 1001, 2},               // late by the new time
		{1000, 1001, 1},                       // late by the old one
		{1002 - step, 1001, StepBack - 1},     // late by the old one, too
		{1001 - 4*step, 1001, 0},              // set back again: 4 steps
		{1008 - 4*step, 1008, 0},
		{1008 - 2*step, 1008, 0}, // the shift before was forgotten: set back
		{1009 - 2*step, 1009, 0},
		{2000, 2000, 0},              // the clock caught up
		{2000 - 2*step + 5, 2000, 0}, // set back anew: nothing went by since
		{2000 - 2*step + 6, 2001, 0},
		{math.MaxInt64, math.MaxInt64, 0},
		{math.MinInt64, math.MaxInt64, 0}, // all the way back
		{math.MaxInt64, math.MaxInt64, 0},
	} {
		got, late := a.at(s.now)
		require.Equal(t, s.at, got, "step %d", i)
		require.Equal(t, s.late, late, "step %d", i)
	}
}
