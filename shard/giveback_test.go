package shard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// change puts another rate of the policy's only limit into force.
func change(t *testing.T, table *Table, p *Policy, tokens, per, capacity int64, at clock.Time) {
	l, err := bucket.New(tokens, per, capacity)
	require.NoError(t, err)
	table.Change(p, p.Plan().Next([]bucket.Named{{Name: "rate", Limit: l}}, "", at), at)
}

// A rollback, or a refund, that sleeps through two changes finds its own parity
// again, but not its own units: those of a slow rate would fill a fast one.
func TestGiveBackAfterTwoChangesGivesNothing(t *testing.T) {
	const hour = 3_600_000_000_000
	table, p := newTable(t, Options{MaxKeys: 4}, 1, hour, 20)
	k := p.Named("k")
	pin, v := table.Pin(p, &k, 0)
	require.Equal(t, Allowed, v)
	require.Equal(t, Allowed, pin.Allow(0, 20))
	old := p.Plan()
	change(t, table, p, 1, 1000, 20, 0)
	change(t, table, p, 2, 1, 20, 0)
	require.Equal(t, old.Parity(), p.Plan().Parity())
	require.Equal(t, Limited, pin.Allow(0, 1))

	c := clock.NewManual(0)
	require.Zero(t, table.giveBack(pin.w, p, 0, old, gift{n: 1, alone: true}, c))
	require.Equal(t, Limited, pin.Allow(0, 1), "one token of the old rate filled the bucket")
	table.uncharge(pin.w, p, charged(old, 0, 1), []int{0})
	require.Equal(t, Limited, pin.Allow(0, 1))
	require.Zero(t, sum(table.cold(pin.w.i).gifts.w.Load()), "what was not given counts as given")
}

// A refund by the pin itself after changes of the rate.
func TestGiveBackOfAnotherRateGivesNothing(t *testing.T) {
	table, p := newTable(t, Options{MaxKeys: 4}, 1, 1_000_000, 20)
	k := p.Named("k")
	pin, _ := table.Pin(p, &k, 0)
	var r Result
	require.Equal(t, Allowed, pin.Take(0, &Ask{N: 5}, &r))
	refund := Refund{Charged: bucket.Charged{At: r.At, Ahead: r.Ahead, Done: r.Done}, N: 5, Slot: r.Slot, First: r.First, Gen: r.Plan.Gen()}
	require.Equal(t, Allowed, pin.Allow(0, 15))
	change(t, table, p, 2, 1, 20, 0)
	change(t, table, p, 3, 1_000, 20, 0)
	pin.Refund(refund, clock.NewManual(0))
	require.Equal(t, Limited, pin.Allow(0, 6))
}

// A take that found its second limit used up gives back what it had taken from
// the first, all of it as long as no time passed.
func TestUnchargeGivesBack(t *testing.T) {
	c := clock.NewManual(0)
	table, err := New(Options{MaxKeys: 8, Clock: c})
	require.NoError(t, err)
	l, err := bucket.New(10, int64(time.Second), 10)
	require.NoError(t, err)
	p := table.AddPolicy("order.new", (*bucket.Plan)(nil).Next([]bucket.Named{{Name: "a", Limit: l}, {Name: "b", Limit: l}}, "", 0))
	k := p.Named("desk")
	require.Equal(t, Allowed, table.Allow(p, &k, 0, 1))
	w, _, ok := table.find(&k)
	require.True(t, ok)
	left := func() int64 {
		var r Result
		require.Equal(t, Allowed, table.Take(p, &k, c.Now(), &Ask{}, &r))
		return r.Remaining
	}
	// As charge does for the first limit, and another taker comes in between.
	plan, word := p.Plan(), table.word(w.i, 0)
	next, ok := plan.Limits[0].Take(word.Load(), bucket.OriginOf(w.m.inc()), 0, 4)
	require.True(t, ok)
	word.Store(next)
	require.Equal(t, Allowed, table.Allow(p, &k, 0, 2))
	require.Equal(t, int64(3), left())
	table.uncharge(w, p, charged(plan, 0, 4), plan.Active[:1])
	require.Equal(t, int64(7), left())

	// While somebody else gives back, and does not come to an end, it keeps it.
	next, ok = plan.Limits[0].Take(word.Load(), bucket.OriginOf(w.m.inc()), 0, 4)
	require.True(t, ok)
	word.Store(next)
	given, ok := table.cold(w.i).gifts.begin(1)
	require.True(t, ok)
	table.uncharge(w, p, charged(plan, 0, 4), plan.Active[:1])
	table.cold(w.i).gifts.end(given, 0)
	require.Equal(t, int64(3), left())
	require.EqualValues(t, 1, table.Stats().Kept)
}

// charged is an attempt that took n tokens at a time from limit 0.
func charged(plan *bucket.Plan, at clock.Time, n int64) *attempt {
	try := &attempt{plan: plan, at: at}
	try.cost[0] = n
	return try
}
