package redisync

import (
	"time"

	"github.com/tickgate/tickgate/clock"
)

// Marks tell Redis' script a budget that is new from one that was lost: see sync.lua.
// They live for a day after they were last touched, so they are touched every hour where
// budgets are leased. New touches all of them and waits for that.
const (
	markEvery = time.Hour
	markAgain = time.Minute // after one failed
)

// leasing reports whether any policy is shared by leases.
func (e *engine) leasing() bool {
	for _, m := range e.Policies {
		if m == Lease {
			return true
		}
	}
	return false
}

// touchMarks touches a few of the marks that are due.
func (e *engine) touchMarks(now clock.Time) {
	if e.bucket >= Buckets {
		return
	}
	if !e.leasing() || e.closing {
		e.bucket = Buckets
		return
	}
	b := e.take(forMarks, e.laneOf(MarkKey(e.Prefix, e.bucket)))
	if b == nil {
		return
	}
	most := chunk
	if len(e.lanes) > 1 {
		most = 1 // what is in one batch must be of one lane
	}
	for ; e.bucket < Buckets && len(b.calls) < most; e.bucket++ {
		b.calls = append(b.calls, Call{Key: MarkKey(e.Prefix, e.bucket), Args: MarkArgs{TTL: MarkTTL}.Args()})
	}
	e.launch(b, now)
}

// marked takes the answers.
func (e *engine) marked(b *batch, done bool, now clock.Time) {
	for _, reply := range b.replies[:len(b.calls)] {
		if m, err := ParseMark(reply.Values); done && reply.Err == nil && err == nil {
			if m.Made {
				e.stats.Marks++
			}
			continue
		}
		e.nextMark = min(e.nextMark, now.Add(markAgain))
	}
}

// marks are the calls that touch all marks. quiet vouches for the time before.
func marks(prefix string, quiet time.Duration) []Call {
	calls := make([]Call, Buckets)
	for i := range calls {
		calls[i] = Call{Key: MarkKey(prefix, i), Args: MarkArgs{Age: quiet.Milliseconds(), TTL: MarkTTL}.Args()}
	}
	return calls
}
