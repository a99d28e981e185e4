package ratecompat

import (
	"math"
	"time"
)

// Reservation is tokens taken in advance: whoever has it acts after its delay, or
// cancels it. It is for one goroutine at a time, as far as Cancel goes.
type Reservation struct {
	l     *Limiter
	ok    bool
	act   time.Time
	claim claim // guarded by l.mu
}

// Reserve is ReserveN(time.Now(), 1).
func (l *Limiter) Reserve() *Reservation { return l.ReserveN(time.Now(), 1) }

// ReserveN takes n tokens at the time t, whether they are there or not, and says
// in the reservation when they will be. Later callers come after it. It is not OK
// if n is negative or more than the burst, or if so much is reserved that this one
// would be due in a year or more (73 years at most rates).
func (l *Limiter) ReserveN(t time.Time, n int) *Reservation {
	c, wait, v := l.charge(t, int64(n), InfDuration)
	if v != passed {
		return &Reservation{}
	}
	return &Reservation{l: l, ok: true, act: t.Add(wait), claim: c}
}

// OK reports whether the tokens will be there. If not, Delay is [InfDuration] and
// Cancel does nothing.
func (r *Reservation) OK() bool { return r.ok }

// Delay is DelayFrom(time.Now()).
func (r *Reservation) Delay() time.Duration { return r.DelayFrom(time.Now()) }

// DelayFrom returns how long after t the holder may act: 0 if at once, InfDuration
// if the reservation is not OK, or if the limit was 0 and the tokens were not there.
func (r *Reservation) DelayFrom(t time.Time) time.Duration {
	if !r.ok {
		return math.MaxInt64
	}
	return max(0, r.act.Sub(t))
}

// Cancel is CancelAt(time.Now()).
func (r *Reservation) Cancel() { r.CancelAt(time.Now()) }

// CancelAt says that the holder will not act, and gives back what it took: the
// limiter is then as if the reservation had never been, but that others keep the
// delays they were told; who is blocked in Wait behind it moves up. After the time
// to act, and a second time, it does nothing; nor if more than 4,096 cancels and
// changes of the limiter came since the reservation, half of that at worst.
//
// It takes time in proportion to the number of goroutines blocked in Wait.
func (r *Reservation) CancelAt(t time.Time) {
	if !r.ok || r.l == nil || r.act.Before(t) {
		return
	}
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	r.l.giveBack(&r.claim, t)
	r.l.grant(nil)
}
