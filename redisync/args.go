package redisync

import (
	"fmt"
	"strconv"
)

// Status says what a call did.
type Status int64

const (
	OK          Status = 0 // all of it
	OlderPolicy Status = 1 // all of it, under the key's own policy, which is not older than the caller's
	Stale       Status = 2 // nothing: the node has begun a newer record of this key
)

// CreditArgs synchronizes one key of one node. Repeating it, losing its reply,
// or sending it after a newer one changes nothing.
type CreditArgs struct {
	Slot   Slot   // the node; "" in a TakeArgs: none
	Epoch  int64  // of the node's record of the key; a new record has a higher one. 1..MaxTotal
	Total  int64  // tokens used in this epoch. 0..MaxTotal
	Base   int64  // of those, tokens that were acknowledged. 0..Total
	Policy Policy // as the caller has it
	Keep   int64  // ms that the key outlives its last use once it is full; also how long a silent node is remembered. At least 1
	Est    int64  // the level here, in millionths, not less what is not acknowledged: what a lost key is made with. The capacity if nothing is known
	Debt   int64  // millionths of a token below zero beyond which is forgiven
}

// Args returns the script's arguments.
func (a CreditArgs) Args() []string { return a.append("c1", make([]string, 0, 12)) }

func (a CreditArgs) append(op string, s []string) []string {
	return append(s, op, string(a.Slot), dec(a.Epoch), dec(a.Total), dec(a.Base),
		dec(a.Policy.A), dec(a.Policy.B), dec(a.Policy.C), dec(a.Policy.V),
		dec(a.Keep), dec(a.Est), dec(a.Debt))
}

// CreditReply is what Redis has after the call.
type CreditReply struct {
	Status   Status
	Level    int64 // millionths of a token, negative in debt
	Now      int64 // µs, by the server's clock
	Created  bool  // the key was not there
	Forgiven int64 // millionths, by this call
	Total    int64 // what is charged of this epoch: all that is acknowledged. 0 if Stale
	Policy   Policy
}

// ParseCredit reads the reply to a CreditArgs.
func ParseCredit(v []int64) (CreditReply, error) {
	if len(v) != 10 {
		return CreditReply{}, shape("c1", v)
	}
	if !within(v[0], 0, int64(Stale)) || !policyWithin(v[6:]) || !within(v[1], -exact, v[9]) || !within(v[4], 0, exact) || !within(v[5], 0, exact) {
		return CreditReply{}, beyond("c1")
	}
	return CreditReply{
		Status: Status(v[0]), Level: v[1], Now: v[2], Created: v[3] == 1, Forgiven: v[4], Total: v[5],
		Policy: Policy{V: v[6], A: v[7], B: v[8], C: v[9]},
	}, nil
}

// TakeArgs takes N tokens in one call, all or none, after the synchronization.
// N is not part of any total: repeating the call takes again. With Slot "" and
// no epoch, total and base, the key keeps nothing of the node.
type TakeArgs struct {
	CreditArgs
	N int64 // 0..MaxCapacity
}

// Args returns the script's arguments.
func (a TakeArgs) Args() []string {
	return append(a.append("t1", make([]string, 0, 13)), dec(a.N))
}

// TakeReply is what Redis has after the call.
type TakeReply struct {
	CreditReply
	Allowed bool
	Retry   int64 // µs after Now when N tokens will be there if nobody else takes; −1: never; 0 if allowed
}

// ParseTake reads the reply to a TakeArgs.
func ParseTake(v []int64) (TakeReply, error) {
	if len(v) != 12 {
		return TakeReply{}, shape("t1", v)
	}
	c, err := ParseCredit(v[:10])
	if err != nil || !within(v[10], 0, 1) || !within(v[11], -1, exact) {
		return TakeReply{}, beyond("t1")
	}
	return TakeReply{CreditReply: c, Allowed: v[10] == 1, Retry: v[11]}, err
}

// LeaseArgs asks for tokens to spend, and tells what became of those granted
// before. All counts are of this epoch and only grow. It goes to the two keys
// of LeaseKey. Repeating it changes nothing.
//
// The lease lasts Lease from when the call was sent. When it ends without an
// answer, what is left must not be spent, and the node begins a new epoch.
type LeaseArgs struct {
	Slot     Slot
	Epoch    int64 // 1..MaxTotal
	Seen     int64 // tokens granted, as the node knows it
	Gone     int64 // of those, tokens that it no longer holds: spent, lost or returned. 0..Seen
	Returned int64 // of those, tokens that it gives back unspent. 0..Gone
	Want     int64 // tokens wanted beyond those held. 0..MaxCapacity
	Policy   Policy
	Keep     int64 // ms, as in CreditArgs
	Lease    int64 // ms, the same on every node. At least 1
	MarkTTL  int64 // ms; MarkTTL
	Leave    bool  // forget the node once it holds nothing; Want is taken as 0
}

// Args returns the script's arguments.
func (a LeaseArgs) Args() []string {
	leave := "0"
	if a.Leave {
		leave = "1"
	}
	return []string{
		"l1", string(a.Slot), dec(a.Epoch), dec(a.Seen), dec(a.Gone), dec(a.Returned), dec(a.Want),
		dec(a.Policy.A), dec(a.Policy.B), dec(a.Policy.C), dec(a.Policy.V),
		dec(a.Keep), dec(a.Lease), dec(a.MarkTTL), leave,
	}
}

// LeaseReply is what Redis has after the call. The node holds Granted − Gone,
// less what it spent since it sent the call. If Gone is above the Gone that was
// sent, what it held was written off, because the call came after the lease's
// end: it must drop all of that, and holds only the rest.
type LeaseReply struct {
	Status   Status
	Granted  int64 // tokens in this epoch
	Gone     int64 // tokens
	Level    int64 // millionths of a token that nobody holds
	Now      int64 // µs, by the server's clock
	Created  bool
	Learning bool  // nothing is granted yet, because leases may be out that were lost
	Wants    int64 // tokens that all nodes want
	Policy   Policy
}

// ParseLease reads the reply to a LeaseArgs.
func ParseLease(v []int64) (LeaseReply, error) {
	if len(v) != 12 {
		return LeaseReply{}, shape("l1", v)
	}
	if !within(v[0], 0, int64(Stale)) || !policyWithin(v[8:]) || !within(v[1], 0, exact) || !within(v[2], 0, v[1]) ||
		!within(v[3], -exact, v[11]) || !within(v[7], 0, exact) {
		return LeaseReply{}, beyond("l1")
	}
	return LeaseReply{
		Status: Status(v[0]), Granted: v[1], Gone: v[2], Level: v[3], Now: v[4],
		Created: v[5] == 1, Learning: v[6] == 1, Wants: v[7],
		Policy: Policy{V: v[8], A: v[9], B: v[10], C: v[11]},
	}, nil
}

// MarkArgs makes the mark of a bucket of lease keys if it is not there, and
// renews its life in Redis. It goes to a MarkKey. An Age above one term vouches that
// nobody holds a lease and that every budget was refilled for so long.
type MarkArgs struct {
	Age int64 // ms, 0 if nothing is known
	TTL int64 // ms; MarkTTL
}

// Args returns the script's arguments.
func (a MarkArgs) Args() []string { return []string{"m1", dec(a.Age), dec(a.TTL)} }

// MarkReply is what Redis has after the call.
type MarkReply struct {
	Made  bool  // it was not there: Redis is new, or lost its data
	Now   int64 // µs
	Since int64 // µs, when it was made
}

// ParseMark reads the reply to a MarkArgs.
func ParseMark(v []int64) (MarkReply, error) {
	if len(v) != 3 {
		return MarkReply{}, shape("m1", v)
	}
	return MarkReply{Made: v[0] == 1, Now: v[1], Since: v[2]}, nil
}

// HeartbeatArgs says that a node lives. It goes to the NodesKey.
type HeartbeatArgs struct {
	Node Slot
	TTL  int64 // ms without a beat after which a node does not count
}

// Args returns the script's arguments.
func (a HeartbeatArgs) Args() []string { return []string{"h1", string(a.Node), dec(a.TTL)} }

// LeaveArgs says that a node is gone. It goes to the NodesKey.
type LeaveArgs struct{ Node Slot }

// Args returns the script's arguments.
func (a LeaveArgs) Args() []string { return []string{"x1", string(a.Node)} }

// HeartbeatReply answers HeartbeatArgs and LeaveArgs.
type HeartbeatReply struct {
	Nodes   int64 // that live, the caller included unless it left
	Now     int64 // µs
	Created bool  // no node was known: Redis is new, or lost its data
}

// ParseHeartbeat reads the reply to a HeartbeatArgs or LeaveArgs.
func ParseHeartbeat(v []int64) (HeartbeatReply, error) {
	if len(v) != 3 {
		return HeartbeatReply{}, shape("h1", v)
	}
	if !within(v[0], 0, mostNodes) {
		return HeartbeatReply{}, beyond("h1")
	}
	return HeartbeatReply{Nodes: v[0], Now: v[1], Created: v[2] == 1}, nil
}

func dec(n int64) string { return strconv.FormatInt(n, 10) }

// exact is how far the script's numbers go, and mostNodes how many nodes are believed.
const (
	exact     = 1 << 53
	mostNodes = 1_000_000
)

func within(n, least, most int64) bool { return n >= least && n <= most }

// policyWithin reports whether v, A, B, C can be a policy.
func policyWithin(p []int64) bool {
	return within(p[0], 0, exact) && within(p[1], 1, exact) && within(p[2], 1, exact) && within(p[3], 0, exact)
}

func beyond(op string) error {
	return fmt.Errorf("redis answered %s with a number that cannot be: another script runs under this one's name, or the key was tampered with", op)
}

func shape(op string, v []int64) error {
	return fmt.Errorf("redis answered %s with %d numbers: another script runs under this one's name", op, len(v))
}
