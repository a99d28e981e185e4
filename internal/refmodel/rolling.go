package refmodel

import (
	"math/big"
	"slices"
	"time"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// rolling counts what happened in the last Per + Skew, wherever that span starts.
// An event that is exactly as old as that is out.
type rolling struct {
	limit  Limit
	now    clock.Time
	events []*event // that count, the oldest first
}

// event is n tokens at one time.
type event struct {
	at clock.Time
	n  int64
}

func (r *rolling) of() Limit { return r.limit }

// adopt keeps every event with its date.
func (r *rolling) adopt(l Limit) bool {
	if l.Window != policy.Rolling || l.Per != r.limit.Per {
		return false
	}
	r.limit = l
	r.drop()
	return true
}

func (r *rolling) to(t clock.Time) {
	r.now = t
	r.drop()
}

// drop forgets the events that count no more.
func (r *rolling) drop() {
	r.events = slices.DeleteFunc(r.events, func(e *event) bool { return e.n == 0 || r.expires(e) == 0 })
}

// expires is how long an event counts still.
func (r *rolling) expires(e *event) time.Duration {
	span := saturate(new(big.Int).Add(big.NewInt(r.limit.Per), big.NewInt(int64(r.limit.Skew))))
	return max(0, span-since(e.at, r.now))
}

// sum is what counts now.
func (r *rolling) sum() int64 {
	sum := int64(0)
	for _, e := range r.events {
		sum += e.n // at most math.MaxInt64, see charge
	}
	return sum
}

func (r *rolling) wait(n int64, urgent bool, after time.Duration) time.Duration {
	sum := r.sum()
	for _, e := range r.events {
		if sum <= r.limit.room(urgent)-n {
			break
		}
		sum -= e.n
		after = max(after, r.expires(e))
	}
	return after
}

func (r *rolling) take(n int64) mark {
	e := &event{r.now, n}
	r.events = append(r.events, e)
	return e
}

// charge dates n tokens now. What is more than the most that may count pushes the
// oldest out.
func (r *rolling) charge(n int64) {
	sum := r.sum()
	total := r.limit.charged(sum, n)
	n = min(n, total)
	r.credit(sum - (total - n))
	r.take(n)
}

// credit gives the oldest tokens back first.
func (r *rolling) credit(n int64) {
	for _, e := range r.events {
		give := min(n, e.n)
		e.n -= give
		n -= give
	}
	r.drop()
}

// refund removes the tokens of that take, as far as no credit has.
func (r *rolling) refund(of mark) {
	if e, ok := of.(*event); ok && slices.Contains(r.events, e) {
		e.n = 0
		r.drop()
	}
}

func (r *rolling) used() *big.Rat { return whole(r.sum()) }

func (r *rolling) left(urgent bool) int64 { return max(0, r.limit.room(urgent)-r.sum()) }

func (r *rolling) reset() time.Duration {
	wait := time.Duration(0)
	for _, e := range r.events {
		wait = max(wait, r.expires(e))
	}
	return wait
}
