package ratecompat

import "time"

// waiter is a goroutine blocked in Wait. All but ready is guarded by Limiter.mu.
type waiter struct {
	claim
	ready   chan struct{} // tells it to look again; holds one
	granted bool
	next    *waiter
	prev    *waiter
}

// tell makes w look again. It never blocks: if ready is full, w is about to look.
func (w *waiter) tell() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// queue holds the waiters in the order in which they were charged, which is the
// order in which they are due. Only the head watches the clock; it is told when it
// becomes the head and when its time changes, and lets all go who are due.
type queue struct{ head, tail *waiter }

func (q *queue) push(w *waiter) {
	w.prev = q.tail
	if q.tail == nil {
		q.head = w
	} else {
		q.tail.next = w
	}
	q.tail = w
}

func (q *queue) remove(w *waiter) {
	if w.prev == nil {
		q.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.next, w.prev = nil, nil
}

// last reports whether no waiter came after c, a claim that is the latest in the
// word: one for n = 0 could have come without changing it.
func (q *queue) last(c *claim) bool { return q.tail == nil || q.tail.mark != c.mark }

// grant lets go who is due, and tells the head, unless that is self. It returns
// how long the head is to wait, 0 without one. The caller holds mu.
func (l *Limiter) grant(self *waiter) (wait time.Duration) {
	if l.queue.head == nil {
		return 0 // before the clock is read: limiters with times of their own never wait
	}
	g := l.terms.Load()
	at, late := l.when(g, time.Now(), false)
	at = g.now(at)
	for w := l.queue.head; w != nil; w = l.queue.head {
		if !g.inf {
			if wait = g.wait(g.reach(&w.claim, at), at, 0); wait > 0 {
				if w != self {
					w.tell()
				}
				return later(wait, late)
			}
		}
		l.queue.remove(w)
		w.granted = true
		if w != self {
			w.tell()
		}
	}
	return 0
}
