package ratecompat

import "time"

// SetLimit is SetLimitAt(time.Now(), limit).
func (l *Limiter) SetLimit(limit Limit) { l.SetLimitAt(time.Now(), limit) }

// SetLimitAt changes the rate from the time t on. The tokens that are there stay,
// and so does a debt. Who is blocked in Wait is re-timed: it returns when its
// tokens come at the new rate. A [Reservation] keeps the delay it was given.
func (l *Limiter) SetLimitAt(t time.Time, limit Limit) {
	l.change(t, func(_ Limit, burst int) (Limit, int) { return limit, burst })
}

// SetBurst is SetBurstAt(time.Now(), burst).
func (l *Limiter) SetBurst(burst int) { l.SetBurstAt(time.Now(), burst) }

// SetBurstAt changes the burst from the time t on. The tokens that are there stay,
// up to the new burst; a larger burst fills up at the limit's rate.
func (l *Limiter) SetBurstAt(t time.Time, burst int) {
	l.change(t, func(limit Limit, _ int) (Limit, int) { return limit, burst })
}

// change puts another limit or burst into force. It publishes the terms first and
// then swaps the word: in between takers find a word of the generation before and
// go by that one, so the swap is where the change happens.
func (l *Limiter) change(t time.Time, edit func(Limit, int) (Limit, int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.based(t)
	limit, burst := edit(g.limit, g.burst)
	at, _ := l.when(g, t, false)
	for !l.near(at) {
	}
	l.move(at)
	next := g.next(limit, burst, at)
	l.terms.Store(next)
	for {
		w := l.word.Load()
		if l.word.CompareAndSwap(w, next.convert(w)) {
			break
		}
	}
	l.record(step{gen: next.gen, change: next})
	l.grant(nil)
}
