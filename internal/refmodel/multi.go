package refmodel

import (
	"math"
	"math/big"
	"sync"
	"time"

	"github.com/tickgate/tickgate/clock"
)

// Multi is several limits of one key, of any windows: a take is from all of them
// or from none. It is safe for concurrent use.
type Multi struct {
	// SetBack makes the key follow clocks that are set back; see [StepBack]. To be
	// set before the first use.
	SetBack bool

	mu       sync.Mutex
	axis     axis
	counters []counter // in the order given
}

// NewMulti returns a key whose limits all count nothing. Without a limit
// everything passes. It panics if a limit is not valid or a name occurs twice.
func NewMulti(limits ...Limit) *Multi {
	m := &Multi{}
	m.set(limits)
	return m
}

// Take makes a call at now: it takes from every limit what it costs there, if all
// have it.
func (m *Multi) Take(now clock.Time, c Call) Decision {
	m.mu.Lock()
	defer m.mu.Unlock()
	late := m.to(now)
	d := Decision{At: m.axis.newest, Remaining: math.MaxInt64}
	for _, v := range m.counters {
		if n, _ := c.of(v.of().Name); n < 0 {
			return Decision{At: m.axis.newest, TooCostly: true, RetryAfter: Never}
		}
	}
	if c.N < 0 {
		return Decision{At: m.axis.newest, TooCostly: true, RetryAfter: Never}
	}
	for _, v := range m.counters {
		if n, _ := c.of(v.of().Name); n > v.of().room(c.Urgent) {
			d.TooCostly, d.RetryAfter = true, Never
			d.explain(v, c.Urgent)
			d.ResetAfter = add(d.ResetAfter, late)
			return d
		}
	}
	if m.wait(&d, c); d.RetryAfter > 0 {
		d.RetryAfter, d.ResetAfter = add(d.RetryAfter, late), add(d.ResetAfter, late)
		return d
	}
	d.Allowed = true
	d.Receipt.marks = make(map[string]mark)
	first := true
	for _, v := range m.counters {
		n, in := c.of(v.of().Name)
		if !in {
			continue
		}
		if n > 0 {
			d.Receipt.marks[v.of().Name] = v.take(n)
		}
		if left := v.left(c.Urgent); first || left < d.Remaining {
			d.explain(v, c.Urgent)
		}
		first = false
	}
	d.ResetAfter = add(d.ResetAfter, late)
	return d
}

// wait finds the least wait after which a call passes, and the limit that makes it
// wait longest. A limit may let the call pass now and not at the end of another's
// wait, so all are asked again until none has anything to add.
func (m *Multi) wait(d *Decision, c Call) {
	for again := true; again; {
		again = false
		for _, v := range m.counters {
			n, in := c.of(v.of().Name)
			if !in {
				continue
			}
			if w := v.wait(n, c.Urgent, d.RetryAfter); w > d.RetryAfter {
				d.RetryAfter, again = w, true
				d.explain(v, c.Urgent)
			}
		}
	}
}

// explain names the limit that decided.
func (d *Decision) explain(v counter, urgent bool) {
	d.Limit, d.Remaining, d.ResetAfter = v.of().Name, v.left(urgent), v.reset()
}

// Charge counts n tokens as used at now, whatever is left. n is at least 0.
func (m *Multi) Charge(now clock.Time, n int64) {
	m.each(now, func(v counter) {
		if n > 0 {
			v.charge(n)
		}
	})
}

// Credit gives n tokens back at now, down to nothing used. n is at least 0. A
// Rolling limit gives the oldest back first.
func (m *Multi) Credit(now clock.Time, n int64) {
	m.each(now, func(v counter) { v.credit(n) })
}

// Refund gives back at now what a take took: of a token bucket what it would have
// more without the take, and never more; of windows what they count of it still. A
// limit that came into force after the take gives nothing back.
func (m *Multi) Refund(now clock.Time, r Receipt) {
	m.each(now, func(v counter) {
		if mark, ok := r.marks[v.of().Name]; ok {
			v.refund(mark)
		}
	})
}

// Used returns the exact number of tokens used at now of the limit named. It
// panics if there is none.
func (m *Multi) Used(now clock.Time, name string) *big.Rat {
	var used *big.Rat
	m.each(now, func(v counter) {
		if v.of().Name == name {
			used = v.used()
		}
	})
	if used == nil {
		panic("refmodel: no limit " + name)
	}
	return used
}

func (m *Multi) each(now clock.Time, do func(counter)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.to(now)
	for _, v := range m.counters {
		do(v)
	}
}

// to moves the key on to a caller's time and returns how late the caller is.
func (m *Multi) to(now clock.Time) (late time.Duration) {
	m.axis.setBack = m.SetBack
	at, late := m.axis.at(now)
	for _, v := range m.counters {
		v.to(at)
	}
	return late
}

func (m *Multi) first() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counters[0].of().Name
}
