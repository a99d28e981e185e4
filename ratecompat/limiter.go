package ratecompat

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate/clock"
)

// Limiter allows events up to a rate, with bursts: a bucket that holds up to
// Burst tokens, is full at first, and gets Limit tokens a second. An event takes
// one token, or n.
//
// The zero Limiter has limit 0 and burst 0 and allows nothing until both are set;
// its bucket starts empty. Make others with [NewLimiter].
//
// Allow says whether a token was there; Reserve takes one in advance and says when
// it will be there; Wait blocks until it is. A Limiter is for any number of
// goroutines, and must not be copied. Allow, Reserve and Tokens are lock-free, and
// Allow allocates nothing; Wait takes a mutex only where it must wait.
type Limiter struct {
	terms atomic.Pointer[terms] // nil: the zero Limiter. Written under mu, but for the base
	word  atomic.Uint64         // raised by takers; lowered, and its parity flipped, under mu
	seen  atomic.Int64          // no take that is in the word was later; goes up only
	shift atomic.Int64          // of callers whose clock was set back, see when; 0: none yet

	mu    sync.Mutex // cancels, changes, and the queue; no Allow or Reserve takes it
	steps steps
	queue queue
}

// NewLimiter returns a limiter for r events a second and bursts of up to b events.
// Its first call says when its time begins. See [Limit] for rates that are not
// numbers above zero; b of 0 or less serves only n = 0, and all if r is [Inf].
// A bucket that would take over 365 days to refill holds what 365 days bring.
func NewLimiter(r Limit, b int) *Limiter {
	l := new(Limiter)
	l.terms.Store(makeTerms(r, b, nil))
	return l
}

// Limit returns the rate as it was set.
func (l *Limiter) Limit() Limit {
	if g := l.terms.Load(); g != nil {
		return g.limit
	}
	return 0
}

// Burst returns the burst as it was set: the most tokens that one call can take,
// unless the limit is [Inf].
func (l *Limiter) Burst() int {
	if g := l.terms.Load(); g != nil {
		return g.burst
	}
	return 0
}

// Allow is AllowN(time.Now(), 1).
func (l *Limiter) Allow() bool { return l.AllowN(time.Now(), 1) }

// AllowN takes n tokens at the time t and reports whether they were there. If not
// it takes nothing. A negative n is refused. n = 0 reports whether nothing is owed.
func (l *Limiter) AllowN(t time.Time, n int) bool {
	_, _, v := l.charge(t, int64(n), 0)
	return v == passed
}

// Tokens is TokensAt(time.Now()).
func (l *Limiter) Tokens() float64 { return l.TokensAt(time.Now()) }

// TokensAt returns how many tokens are there at the time t: less than 0 if
// reservations took more than there were. It changes nothing, so t may be in the
// future.
func (l *Limiter) TokensAt(t time.Time) float64 {
	seen := clock.Time(l.seen.Load()) // before the word, which is near it or later
	g, w := l.read()
	switch {
	case g == nil:
		return 0
	case !g.based:
		return float64(max(g.most, 0))
	}
	at, _ := l.when(g, t, true)
	if g.inf && at > g.since {
		return float64(max(g.most, 0))
	}
	at = g.now(at)
	if !g.still && at > seen {
		w = g.bucket.Rebase(w, g.origin, seen, at) // at may be years ahead
	}
	left := g.room - g.used(w, at)
	if g.most <= 0 {
		left = min(left, 0) // see convert
	}
	// The whole tokens apart, so that they stay whole.
	return float64(left/g.cost) + float64(left%g.cost)/float64(g.cost)
}
