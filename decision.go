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
	Blocked                  // the key is blocked: reserved, not given yet
	Banned                   // the key is banned until a time: reserved, not given yet
	NoPolicy                 // no policy for the endpoint, and none named default
	BadRequest               // n < 0, an empty or over-long name, or a handle after Release
)

var reasons = [...]string{"ok", "limited", "too costly", "full", "blocked", "banned", "no policy", "bad request"}

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

	receipt receipt
}

// receipt is what giving the decision's tokens back needs.
type receipt struct {
	charged bucket.Charged
	n       int64
	slot    uint64
	first   uint64
	gen     uint32
	gate    uint32
}

// verdicts maps the table's answers to reasons.
var verdicts = [...]Reason{
	shard.Allowed:   OK,
	shard.Limited:   Limited,
	shard.TooCostly: TooCostly,
	shard.Full:      Full,
	shard.Gone:      BadRequest,
}

// decide puts a verdict on n tokens and its explanation into d, which is zero. It
// writes in place: a Decision is over a hundred bytes, and returning it from
// function to function costs more than deciding. gate is the number of its gate.
func decide(d *Decision, gate uint32, v shard.Verdict, r *shard.Result, n int64) {
	d.Reason = verdicts[v]
	if v == shard.Full || v == shard.Gone {
		d.RetryAfter = Never
		return
	}
	d.Allowed = v == shard.Allowed
	d.Limit = r.Name()
	if v == shard.TooCostly {
		d.RetryAfter = Never
	}
	if !r.Explained() {
		if d.Allowed {
			d.Remaining = math.MaxInt64
		}
		return
	}
	d.explain(v, &r.Plan.Limits[r.Limit], r.Word, r.Orig, r.At, r.Late, n)
	if d.Allowed && n > 0 {
		d.receipt.charged = bucket.Charged{At: r.At, Ahead: r.Ahead, Done: r.Done}
		d.receipt.n = n
		d.receipt.slot = r.Slot
		d.receipt.first = r.First
		d.receipt.gen = r.Plan.Gen()
		d.receipt.gate = gate
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
