package tickgate

import (
	"math"
	"strconv"
	"time"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/shard"
)

// Never is the RetryAfter of a request that cannot pass, however long it waits.
const Never time.Duration = math.MaxInt64

// Reason says why a request was decided as it was.
type Reason uint8

const (
	OK         Reason = iota // allowed
	Limited                  // the tokens are not there yet; RetryAfter says when
	TooCostly                // n is above a limit's capacity, or the limit is "deny": never passes
	Full                     // the gate holds MaxKeys and may not or cannot evict
	Blocked                  // the apikey, or everyone, is blocked (Gate.Block); urgent calls pass
	Banned                   // the key is banned (Handle.Ban); RetryAfter says until when
	NoPolicy                 // no policy for the endpoint, and none named default
	BadRequest               // n < 0, a cost for no limit, an empty or over-long name, a handle after Release
	Unsettled                // the budget is shared (Gate.Share), and what may be used here before the others know is used up; RetryAfter is a guess
)

var reasons = [...]string{"ok", "limited", "too costly", "full", "blocked", "banned", "no policy", "bad request", "unsettled"}

func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return "Reason(" + strconv.Itoa(int(r)) + ")"
}

// Decision is the answer to one request. It is a plain value: no error, no
// allocation.
type Decision struct {
	Allowed bool
	Reason  Reason

	// Limit is the name of the limit that decided: the one that denies longest, or
	// when allowed the one with the fewest tokens left. Empty where no limit did.
	Limit string

	// Remaining is the whole tokens left in that limit. math.MaxInt64 where the
	// policy has no limit, 0 where no limit decided.
	Remaining int64

	// RetryAfter is 0 when allowed. Else asking again exactly that much later
	// passes if nobody else takes, and one nanosecond earlier does not. Never when
	// it cannot pass, or when time alone would not make it: Full passes once a key
	// is evicted or a handle released.
	RetryAfter time.Duration

	// ResetAfter is the time until that limit is full again.
	ResetAfter time.Duration

	// Window is the number of that limit's window: of an aligned one since 1970 UTC,
	// of one from its first event when it began, in ns of the gate's clock. 0 for a
	// token bucket and a rolling limit.
	Window int64

	// Seq is the number of admissions of the key so far, this one included, counted
	// over the decisions of its handles and groups. 0 for a denial, and for decisions
	// that do not come from a handle.
	Seq uint64

	// Shadow says that the policy is in shadow mode ([policy.Policy].Shadow) and that a
	// limit would have denied: Allowed is true, nothing was taken, and Reason, Limit and
	// RetryAfter are those of the denial.
	Shadow bool

	// Member is the number, in the order of [Join], of the handle whose limit decided.
	Member int

	receipt receipt
}

// receipt is what giving the decision's tokens back, or correcting them, needs.
type receipt struct {
	charged bucket.Charged
	n       int64
	slot    uint64 // of the key; the serial number of a group
	first   uint64
	gen     uint32 // of the policy; for a group, of the gate's policies
	gate    uint32
	marked  bool // marks say what each limit was charged
	known   bool // marks say what was used
	near    bool // less than a fifth of the limit is left
	marks   shard.Marks
}

// verdicts maps the table's answers to reasons.
var verdicts = [...]Reason{
	shard.Allowed:   OK,
	shard.Limited:   Limited,
	shard.TooCostly: TooCostly,
	shard.Full:      Full,
	shard.Gone:      BadRequest,
	shard.Blocked:   Blocked,
	shard.Banned:    Banned,
	shard.BadAsk:    BadRequest,
	shard.Unsettled: Unsettled,
}

// decide puts a verdict on n tokens and its explanation into d, which is zero. It
// writes in place: a Decision is over a hundred bytes, and returning it from
// function to function costs more than deciding. gate is the number of its gate.
func decide(d *Decision, gate uint32, v shard.Verdict, r *shard.Result, n int64) {
	d.Reason = verdicts[v]
	switch v {
	case shard.Full, shard.Gone, shard.Blocked, shard.BadAsk:
		d.RetryAfter = Never
		return
	case shard.Banned:
		d.RetryAfter = time.Duration(r.Retry)
		return
	case shard.TooCostly:
		d.RetryAfter = Never
	}
	d.Allowed = v == shard.Allowed
	d.Limit = r.Name()
	if !r.Explained() {
		if d.Allowed {
			d.Remaining = math.MaxInt64
		}
		return
	}
	d.Remaining, d.Window = r.Remaining, r.Window
	d.receipt.near = r.Remaining < fifth(r.Plan.Limits[r.Limit].Capacity())
	d.ResetAfter = later(r.Reset, r.Late)
	if v == shard.Limited || v == shard.Unsettled {
		d.RetryAfter = later(r.Retry, r.Late)
	}
	if d.Allowed && n > 0 {
		d.receipt.charged = bucket.Charged{At: r.At, Ahead: r.Ahead, Done: r.Done}
		d.receipt.n = n
		d.receipt.slot = r.Slot
		d.receipt.first = r.First
		d.receipt.gen = r.Plan.Gen()
		d.receipt.gate = gate
		d.receipt.marked, d.receipt.known = r.Keep, r.Known
		if r.Keep {
			d.receipt.marks = r.Marks
		}
		d.Seq = r.Seq
	}
}

// one puts a verdict on n tokens of the only limit, a token bucket, into d.
func (d *Decision) one(gate uint32, v shard.Verdict, plan *bucket.Plan, word, slot uint64, at clock.Time, late, n int64) {
	d.Reason = verdicts[v]
	d.Limit = plan.Names[0]
	d.explain(v, &plan.Limits[0], word, shard.OriginOf(slot), at, late, n)
	switch v {
	case shard.Allowed:
		d.Allowed = true
		if n > 0 {
			d.receipt.near = d.Remaining < fifth(plan.Limits[0].Capacity())
			d.receipt.charged.At = at
			d.receipt.n, d.receipt.slot, d.receipt.first, d.receipt.gen = n, slot, word, plan.Gen()
			d.receipt.gate = gate
		}
	case shard.TooCostly:
		d.RetryAfter = Never
	}
}

// explain fills in what the limit that decided says.
func (d *Decision) explain(v shard.Verdict, l *bucket.Limit, word uint64, o bucket.Origin, at clock.Time, late, n int64) {
	d.Remaining = l.Remaining(word, o, at)
	d.ResetAfter = later(l.Used(word, o, at), late)
	if v == shard.Limited {
		d.RetryAfter = later(l.Retry(word, o, at, n), late)
	}
}

// fifth is a fifth of a capacity, rounded up.
func fifth(capacity int64) int64 { return (capacity-1)/5 + 1 }

// later is a wait on the key's axis as the caller's: longer by how late it is.
// A wait of nothing stays nothing.
func later(wait, late int64) time.Duration {
	if wait == 0 {
		return 0
	}
	if wait > int64(Never)-late {
		return Never
	}
	return time.Duration(wait + late)
}

// refuse is a denial that no limit decided.
func (d *Decision) refuse(why Reason) {
	d.Reason, d.RetryAfter = why, Never
}
