package redisync

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const term = 1_000 // ms

func leaseOf(p Policy, want int64) LeaseArgs {
	return LeaseArgs{Slot: "node1", Epoch: 1, Want: want, Policy: p, Keep: 60_000, Lease: term, MarkTTL: MarkTTL}
}

// settled returns a rig whose lease keys are known to be full.
func settled(t testing.TB) (*rig, string, string) {
	r := newRig(t)
	key, mark := LeaseKey("tickgate", "orders", "l", "x")
	require.True(t, r.mark(mark, 40*time.Hour).Made)
	return r, key, mark
}

// quick refills 1,000 tokens a second, still1000 hardly any.
var (
	quick     = Policy{A: 1_000, B: 1, C: 1_000 * Unit, V: 1}
	still1000 = Policy{A: 1, B: 60_000_000, C: 1_000 * Unit, V: 1}
)

// drained makes the key with the level given, in tokens, and hardly any refill.
func (r *rig) drained(key, mark string, level int64) {
	a := leaseOf(still1000, 0)
	a.Slot, a.Leave = "maker", true
	r.lease(key, mark, a)
	r.srv.Must("HSET", key, "l", dec(level*Unit), "f", "0")
}

func TestLeaseGrantsAreShared(t *testing.T) {
	r, key, mark := settled(t)
	r.drained(key, mark, 1_000)
	a := leaseOf(still1000, 100)
	first := r.lease(key, mark, a)
	require.Equal(t, int64(100), first.Granted)
	require.Equal(t, int64(900*Unit), first.Level)
	require.Equal(t, int64(100), first.Wants)

	b := leaseOf(still1000, 2_000)
	b.Slot = "node2"
	second := r.lease(key, mark, b)
	require.Equal(t, int64(450), second.Granted, "at most half of what is left")
	require.Equal(t, int64(2_100), second.Wants)

	a.Seen, a.Gone, a.Want = 100, 100, 300
	third := r.lease(key, mark, a)
	require.Equal(t, int64(100+450*300/2300), third.Granted, "and at most its part of what all want")
}

func TestLeaseLostReplyIsToldAgainAndNotGrantedAgain(t *testing.T) {
	r, key, mark := settled(t)
	r.drained(key, mark, 1_000)
	a := leaseOf(still1000, 100)
	require.Equal(t, int64(100), r.lease(key, mark, a).Granted)
	again := r.lease(key, mark, a) // the node saw nothing
	require.Equal(t, int64(100), again.Granted)
	require.Equal(t, int64(900*Unit), again.Level)
	a.Seen, a.Gone, a.Want = 100, 60, 60
	require.Equal(t, int64(160), r.lease(key, mark, a).Granted)
}

func TestLeaseReturnsGoBackOnce(t *testing.T) {
	r, key, mark := settled(t)
	r.drained(key, mark, 1_000)
	a := leaseOf(still1000, 100)
	r.lease(key, mark, a)
	a.Seen, a.Gone, a.Returned, a.Want = 100, 70, 30, 0
	for range 3 {
		reply := r.lease(key, mark, a)
		require.Equal(t, int64(930*Unit), reply.Level)
		require.Equal(t, int64(70), reply.Gone)
	}
	a.Gone, a.Returned, a.Leave = 100, 60, true
	reply := r.lease(key, mark, a)
	require.Equal(t, int64(960*Unit), reply.Level)
	require.NotContains(t, r.srv.Map("HGETALL", key), "node1")
	require.Zero(t, reply.Wants)
}

func TestLeaseRefillStopsAtWhatIsHeld(t *testing.T) {
	r, key, mark := settled(t)
	r.lease(key, mark, leaseOf(quick, 400))
	r.pass(key, term*time.Millisecond/2) // 500 tokens' worth
	a := leaseOf(quick, 0)
	a.Seen = 400
	require.Equal(t, int64(600*Unit), r.lease(key, mark, a).Level)
}

func TestLeaseRunsOutAndIsWrittenOff(t *testing.T) {
	r, key, mark := settled(t)
	r.drained(key, mark, 500)
	a := leaseOf(still1000, 100)
	r.lease(key, mark, a)
	r.pass(key, 2*term*time.Millisecond)
	a.Seen, a.Gone, a.Returned, a.Want = 100, 50, 40, 0
	reply := r.lease(key, mark, a)
	require.Equal(t, int64(100), reply.Gone, "all of it is gone")
	require.Equal(t, int64(400*Unit), reply.Level, "and what the node would give back does not come back")

	// A node that begins anew holds nothing of the old.
	b := leaseOf(still1000, 10)
	b.Epoch = 2
	reply = r.lease(key, mark, b)
	require.Equal(t, OK, reply.Status)
	require.Equal(t, int64(10), reply.Granted)
	a.Want = 50
	require.Equal(t, Stale, r.lease(key, mark, a).Status)
}

func TestLeaseThatEndedIsRefilledFromItsEnd(t *testing.T) {
	r, key, mark := settled(t)
	r.lease(key, mark, leaseOf(quick, 400)) // 600 left, 400 held
	hold := int64(term*1000 + term*1000/64 + 1000)
	r.pass(key, time.Duration(hold)*time.Microsecond+100*time.Millisecond)
	b := leaseOf(quick, 0)
	b.Slot = "node2"
	reply := r.lease(key, mark, b)
	// Until its end the room was full; since then 100 ms refilled 100 tokens and
	// what real time the calls took.
	require.InDelta(t, 700*Unit, reply.Level, 90*Unit)
	require.GreaterOrEqual(t, reply.Level, int64(700*Unit))
}

func TestLeaseLearnsAfterALoss(t *testing.T) {
	r, key, mark := settled(t)
	a := leaseOf(quick, 100)
	require.Equal(t, int64(100), r.lease(key, mark, a).Granted)
	r.srv.Must("FLUSHALL")
	a.Seen, a.Gone, a.Want = 100, 20, 50
	reply := r.lease(key, mark, a)
	require.True(t, reply.Created)
	require.True(t, reply.Learning)
	require.Equal(t, int64(100), reply.Granted, "it gets nothing more")
	require.Equal(t, int64(100), reply.Gone, "what it has may have been written off before the loss")
	require.Zero(t, reply.Level)
	require.Contains(t, r.srv.Map("HGETALL", key)["h"], "0:50:")

	fresh := leaseOf(quick, 50)
	fresh.Slot = "node2"
	require.Zero(t, r.lease(key, mark, fresh).Granted)
	r.pass(key, 1_050*time.Millisecond)
	reply = r.lease(key, mark, fresh)
	require.False(t, reply.Learning)
	require.Positive(t, reply.Granted)
	require.LessOrEqual(t, reply.Level, int64(150*Unit), "it began empty")
}

func TestLeaseKeyIsFullIfItsMarkIsOld(t *testing.T) {
	r, key, mark := settled(t)
	reply := r.lease(key, mark, leaseOf(quick, 10))
	require.True(t, reply.Created)
	require.False(t, reply.Learning)
	require.Equal(t, int64(10), reply.Granted)
	require.Equal(t, int64(990*Unit), reply.Level)
}

func TestLeaseKeyLostAloneMarksAnew(t *testing.T) {
	r, key, mark := settled(t)
	a := leaseOf(quick, 100)
	r.lease(key, mark, a)
	r.srv.Must("DEL", key)
	a.Seen = 100
	reply := r.lease(key, mark, a)
	require.True(t, reply.Learning)
	require.False(t, r.mark(mark, 0).Made)
	require.InDelta(t, reply.Now, r.mark(mark, 0).Since, 1)
}

func TestMarkIsMadeOnce(t *testing.T) {
	r := newRig(t)
	key := MarkKey("tickgate", 3)
	first := r.mark(key, time.Hour)
	require.True(t, first.Made)
	require.Equal(t, first.Now-3_600_000_000, first.Since)
	second := r.mark(key, 0)
	require.False(t, second.Made)
	require.Equal(t, first.Since, second.Since)
}

func TestLeaseTakesANewerPolicy(t *testing.T) {
	r, key, mark := settled(t)
	r.drained(key, mark, 1_000)
	r.lease(key, mark, leaseOf(still1000, 100))
	a := leaseOf(still1000, 0)
	a.Seen, a.Policy.C, a.Policy.V = 100, 500*Unit, 2
	reply := r.lease(key, mark, a)
	require.Equal(t, OK, reply.Status)
	require.Equal(t, int64(400*Unit), reply.Level)
	a.Policy = still1000
	reply = r.lease(key, mark, a)
	require.Equal(t, OlderPolicy, reply.Status)
	require.Equal(t, int64(500*Unit), reply.Policy.C)
}

// Redis fell back to what it was before the last grant: that is charged, and what is left of
// the lease may have been written off and granted to others.
func TestLeaseBeyondWhatIsKnownIsWrittenOff(t *testing.T) {
	r, key, mark := settled(t)
	a := leaseOf(quick, 100)
	require.Equal(t, int64(100), r.lease(key, mark, a).Granted)
	level := r.lease(key, mark, LeaseArgs{Slot: "node2", Epoch: 1, Policy: a.Policy, Keep: a.Keep, Lease: a.Lease, MarkTTL: a.MarkTTL}).Level
	a.Seen, a.Gone, a.Want = 130, 40, 0
	reply := r.lease(key, mark, a)
	require.Equal(t, int64(130), reply.Granted)
	require.Equal(t, int64(130), reply.Gone)
	require.Equal(t, level-30*Unit, reply.Level, "there was no room for a refill")
	require.Contains(t, r.srv.Map("HGETALL", key)["h"], "0:0:")
}
