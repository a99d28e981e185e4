package redisync

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// still is a policy that refills one millionth of a token a minute.
func still(capacity int64) Policy {
	return Policy{A: 1, B: 60_000_000, C: capacity * Unit, V: 1}
}

func fresh(p Policy) CreditArgs {
	return CreditArgs{Slot: "node1", Epoch: 1, Policy: p, Keep: 60_000, Est: p.C, Debt: p.C}
}

func TestCreditChargesTotalsOnce(t *testing.T) {
	r := newRig(t)
	a := fresh(still(100))
	a.Total = 10
	first := r.credit("k", a)
	require.Equal(t, CreditReply{Level: 90 * Unit, Now: first.Now, Created: true, Total: 10, Policy: a.Policy}, first)
	require.InDelta(t, time.Now().UnixMicro(), first.Now, 60e6)

	again := r.credit("k", a)
	require.Equal(t, int64(90*Unit), again.Level, "a repeated call")
	require.False(t, again.Created)

	a.Total, a.Base = 25, 10
	require.Equal(t, int64(75*Unit), r.credit("k", a).Level)
	a.Total, a.Base = 12, 10
	late := r.credit("k", a)
	require.Equal(t, int64(75*Unit), late.Level, "an older call that comes late")
	require.Equal(t, int64(25), late.Total)

	b := fresh(still(100))
	b.Slot, b.Total = "node2", 5
	require.Equal(t, int64(70*Unit), r.credit("k", b).Level, "another node")
}

func TestCreditOfAnOldEpochChargesNothing(t *testing.T) {
	r := newRig(t)
	a := fresh(still(100))
	a.Epoch, a.Total = 7, 10
	r.credit("k", a)
	old := a
	old.Epoch, old.Total = 6, 50
	reply := r.credit("k", old)
	require.Equal(t, Stale, reply.Status)
	require.Zero(t, reply.Total)
	require.Equal(t, int64(90*Unit), reply.Level)
	a.Epoch, a.Total = 8, 1
	reply = r.credit("k", a)
	require.Equal(t, OK, reply.Status)
	require.Equal(t, int64(89*Unit), reply.Level)
	require.Equal(t, "8:1", strings.Join(strings.Split(r.srv.Text("HGET", "k", "node1"), ":")[:2], ":"))

	take := TakeArgs{CreditArgs: old, N: 1}
	got := r.take("k", take)
	require.Equal(t, Stale, got.Status)
	require.False(t, got.Allowed)
	require.Equal(t, int64(89*Unit), got.Level)
}

func TestCreditKeepsTheWholeRefillHoweverOftenItIsSynced(t *testing.T) {
	r := newRig(t)
	// 3,000,007/7 a second: no number of microseconds makes a whole millionth.
	p, err := PolicyOf(3_000_007, 7*time.Second, MaxCapacity, 1)
	require.NoError(t, err)
	a := fresh(p)
	a.Est = 0
	first := r.credit("k", a)
	last := first
	for range 2_000 {
		last = r.credit("k", a)
	}
	gain := new(big.Int).Mul(big.NewInt(last.Now-first.Now), big.NewInt(p.A))
	gain.Div(gain, big.NewInt(p.B))
	require.Equal(t, gain.Int64(), last.Level, "after 2,000 calls, in one part")
}

func TestCreditMakesALostKeyFromTheNodesView(t *testing.T) {
	r := newRig(t)
	a := fresh(still(100))
	a.Total = 40
	r.credit("k", a)
	r.srv.Must("DEL", "k")
	a.Base, a.Total, a.Est = 40, 45, 60*Unit
	reply := r.credit("k", a)
	require.True(t, reply.Created)
	require.Equal(t, int64(55*Unit), reply.Level, "the view, less what was not acknowledged")
	require.Equal(t, int64(45), reply.Total)

	// The key is back, but what another node was charged is not: its view counts.
	b := fresh(still(100))
	b.Slot, b.Base, b.Total, b.Est = "node2", 20, 21, 30*Unit
	reply = r.credit("k", b)
	require.Equal(t, int64(29*Unit), reply.Level)
}

func TestCreditAfterRollbackOfAReplicaChargesTheLoss(t *testing.T) {
	r := newRig(t)
	a := fresh(still(100))
	a.Total = 10
	r.credit("k", a)
	before := r.srv.Map("HGETALL", "k")
	a.Base, a.Total = 10, 30
	r.credit("k", a)
	r.srv.Must("HSET", "k", "l", before["l"], "node1", before["node1"])
	a.Base = 30
	require.Equal(t, int64(70*Unit), r.credit("k", a).Level, "the 20 that were lost are charged again")
}

func TestCreditForgivesDebtBelowTheLimit(t *testing.T) {
	r := newRig(t)
	a := fresh(still(100))
	a.Debt, a.Total = 50*Unit, 170
	reply := r.credit("k", a)
	require.Equal(t, int64(-50*Unit), reply.Level)
	require.Equal(t, int64(20*Unit), reply.Forgiven)
	require.Zero(t, r.credit("k", a).Forgiven)
}

func TestPoliciesNewestWins(t *testing.T) {
	r := newRig(t)
	a := fresh(still(100))
	a.Total = 10
	r.credit("k", a)
	newer := a
	newer.Policy = Policy{A: 7, B: 60_000_000, C: 150 * Unit, V: 2}
	reply := r.credit("k", newer)
	require.Equal(t, OK, reply.Status)
	require.Equal(t, newer.Policy, reply.Policy)
	require.Equal(t, int64(140*Unit), reply.Level, "what is used stays used")

	reply = r.credit("k", a)
	require.Equal(t, OlderPolicy, reply.Status)
	require.Equal(t, newer.Policy, reply.Policy)
	require.Equal(t, int64(140*Unit), reply.Level)
	a.Base, a.Total = 10, 15
	require.Equal(t, int64(135*Unit), r.credit("k", a).Level, "and is charged all the same")

	same := a
	same.Policy = Policy{A: 9, B: 60_000_000, C: 10 * Unit, V: 2}
	require.Equal(t, OlderPolicy, r.credit("k", same).Status, "of equal versions the first")

	smaller := a
	smaller.Policy = Policy{A: 1, B: 1, C: 1 * Unit, V: 3}
	smaller.Debt = 1 << 50
	reply = r.credit("k", smaller)
	require.Equal(t, int64(-14*Unit), reply.Level, "less room, the same use")
}

func TestCreditForgetsNodesThatAreSilent(t *testing.T) {
	r := newRig(t)
	a := fresh(still(100))
	a.Total, a.Keep = 10, 5_000
	r.credit("k", a)
	b := a
	b.Slot, b.Total = "node2", 3
	r.pass("k", 4*time.Second)
	r.credit("k", b)
	require.Contains(t, r.srv.Map("HGETALL", "k"), "node1")
	r.pass("k", 4*time.Second)
	b.Base = 3
	r.credit("k", b)
	require.NotContains(t, r.srv.Map("HGETALL", "k"), "node1")
	require.Contains(t, r.srv.Map("HGETALL", "k"), "node2")

	a.Base = 10
	reply := r.credit("k", a)
	require.Equal(t, int64(87*Unit), reply.Level, "it comes back and is not charged again")
	a.Total = 12
	require.Equal(t, int64(85*Unit), r.credit("k", a).Level)
}

func TestBudgetsExpireOnceTheyAreFull(t *testing.T) {
	r := newRig(t)
	p, err := PolicyOf(1, time.Second, 100, 1)
	require.NoError(t, err)
	a := fresh(p)
	a.Keep, a.Total = 50, 60
	r.credit("k", a)
	ttl := r.srv.Must("PTTL", "k").(int64)
	require.InDelta(t, 60_050, ttl, 1_000)

	// An hour a token: far beyond any sum of 32 bits, and exact.
	slow, err := PolicyOf(1, time.Hour, 1_000_000, 1)
	require.NoError(t, err)
	a.Policy, a.Total, a.Est, a.Debt = slow, 1_000_000, slow.C, slow.C
	r.credit("slow", a)
	require.InDelta(t, 3.6e12, float64(r.srv.Must("PTTL", "slow").(int64)), 1e6)

	// The server's clock was set back by a minute: full is a minute later.
	a.Policy, a.Total, a.Est, a.Keep = p, 50, p.C, 50
	r.credit("back", a)
	r.pass("back", -time.Minute)
	r.credit("back", a)
	require.InDelta(t, 110_050, r.srv.Must("PTTL", "back").(int64), 1_000)

	// 1 ms to fill and 20 ms to keep: it goes by itself.
	fast, err := PolicyOf(1_000, time.Second, 1, 1)
	require.NoError(t, err)
	a.Policy, a.Total, a.Est, a.Keep = fast, 1, fast.C, 20
	r.credit("fast", a)
	r.srv.Wait("the full budget is gone", func() bool { return r.srv.Must("EXISTS", "fast") == int64(0) })
}

func TestNoBudgetIsEverWithoutExpiry(t *testing.T) {
	r := newRig(t)
	key, mark := LeaseKey("tickgate", "e", "l", "x")
	p := still(100)
	r.credit("c", fresh(p))
	r.take("t", TakeArgs{CreditArgs: CreditArgs{Policy: p, Keep: 1, Est: p.C}, N: 1})
	r.mark(mark, 0)
	r.lease(key, mark, leaseOf(p, 10))
	_, err := ParseHeartbeat(r.call("nodes", "", HeartbeatArgs{Node: "node1", TTL: 3_000}.Args()))
	require.NoError(t, err)
	require.Len(t, r.srv.Keys(), 5)
	for _, k := range r.srv.Keys() {
		require.Positive(t, r.srv.Must("PTTL", k), k)
	}
}

func TestTakeIsAllOrNothing(t *testing.T) {
	r := newRig(t)
	p, err := PolicyOf(1, time.Hour, 10, 1)
	require.NoError(t, err)
	a := TakeArgs{CreditArgs: CreditArgs{Policy: p, Keep: 1_000, Est: p.C, Debt: p.C}, N: 7}
	require.True(t, r.take("k", a).Allowed)
	got := r.take("k", a)
	require.False(t, got.Allowed)
	level := got.Level
	require.GreaterOrEqual(t, level, int64(3*Unit))
	// The time is exact: a microsecond less does not make the millionth.
	part, err := strconv.ParseInt(r.srv.Text("HGET", "k", "f"), 10, 64)
	require.NoError(t, err)
	need := (7*Unit-level)*p.B - part
	require.Equal(t, (need+p.A-1)/p.A, got.Retry)
	a.N = 11
	require.Equal(t, int64(-1), r.take("k", a).Retry, "never")
	a.N = 0
	require.True(t, r.take("k", a).Allowed)
	require.ElementsMatch(t, []string{"l", "t", "f", "p"}, keysOf(r.srv.Map("HGETALL", "k")), "no node is kept")
}

func TestTakeSettlesAtOnce(t *testing.T) {
	r := newRig(t)
	a := TakeArgs{CreditArgs: fresh(still(100)), N: 5}
	a.Total = 10
	got := r.take("k", a)
	require.True(t, got.Allowed)
	require.Equal(t, int64(85*Unit), got.Level)
	require.Equal(t, int64(10), got.Total, "what is taken is no part of the total")
}

func TestTakeRetryIsAnswerable(t *testing.T) {
	r := newRig(t)
	p := Policy{A: 1, B: 1 << 50, C: MaxCapacity * Unit, V: 1}
	a := TakeArgs{CreditArgs: CreditArgs{Policy: p, Keep: 1_000, Est: 0, Debt: p.C}, N: MaxCapacity}
	require.Equal(t, int64(1<<53-1), r.take("k", a).Retry)
	require.Positive(t, r.srv.Must("PTTL", "k"))
}

func TestNodesAreCounted(t *testing.T) {
	r := newRig(t)
	beat := func(n Slot, ttl int64) HeartbeatReply {
		reply, err := ParseHeartbeat(r.call("nodes", "", HeartbeatArgs{Node: n, TTL: ttl}.Args()))
		require.NoError(t, err)
		return reply
	}
	first := beat("node1", 60_000)
	require.Equal(t, HeartbeatReply{Nodes: 1, Now: first.Now, Created: true}, first)
	require.Equal(t, int64(2), beat("node2", 60_000).Nodes)
	require.Equal(t, int64(2), beat("node1", 60_000).Nodes)
	gone, err := ParseHeartbeat(r.call("nodes", "", LeaveArgs{Node: "node1"}.Args()))
	require.NoError(t, err)
	require.Equal(t, int64(1), gone.Nodes)
	r.srv.Must("ZADD", "nodes", "1000", "node3") // last heard of in 1970
	require.Equal(t, int64(2), beat("node4", 60_000).Nodes)
}

func TestUnknownCallsAreRefused(t *testing.T) {
	r := newRig(t)
	for _, args := range [][]string{{"c2"}, {"c1", "node1"}, append(fresh(still(1)).Args(), "1"), {"l1"}} {
		reply := r.client.Call(soon(t, 5*time.Second), Call{Key: "k", Args: args})
		require.ErrorIs(t, reply.Err, ErrRefused)
		require.ErrorContains(t, reply.Err, "no such call")
	}
	r.srv.Must("SET", "text", "1")
	reply := r.client.Call(soon(t, 5*time.Second), Call{Key: "text", Args: fresh(still(1)).Args()})
	require.ErrorIs(t, reply.Err, ErrRefused)
	require.ErrorContains(t, reply.Err, "WRONGTYPE")
	require.Empty(t, filter(r.srv.Keys(), "k"), "nothing was written")
}

func TestParsersRefuseOtherShapes(t *testing.T) {
	for n := range 14 {
		v := slices.Repeat([]int64{1}, n)
		_, err1 := ParseCredit(v)
		_, err2 := ParseTake(v)
		_, err3 := ParseLease(v)
		_, err4 := ParseMark(v)
		_, err5 := ParseHeartbeat(v)
		require.Equal(t, []bool{n == 10, n == 12, n == 12, n == 3, n == 3},
			[]bool{err1 == nil, err2 == nil, err3 == nil, err4 == nil, err5 == nil}, n)
	}
}

func ExamplePolicyOf() {
	p, err := PolicyOf(10_000, time.Second, 500, 0)
	fmt.Println(p, err)
	// Output: {10000 1 500000000 0} <nil>
}

// A record whose first calls Redis has forgotten, though it answered them, is charged in full.
func TestCreditAfterFallingBackToARecordBefore(t *testing.T) {
	r := newRig(t)
	a := fresh(still(100))
	a.Total = 10
	require.Equal(t, int64(90*Unit), r.credit("k", a).Level)
	before := r.srv.Text("DUMP", "k")
	a.Epoch, a.Total, a.Base = 2, 5, 0
	require.Equal(t, int64(85*Unit), r.credit("k", a).Level)
	r.srv.Must("RESTORE", "k", "0", before, "REPLACE")
	a.Total, a.Base = 6, 5
	reply := r.credit("k", a)
	require.Equal(t, int64(6), reply.Total)
	require.Equal(t, int64(84*Unit), reply.Level)
}
