package refmodel

import (
	"math"
	"math/big"
	"sync"
	"time"

	"github.com/tickgate/tickgate/clock"
)

// Multi is several limits of one key: a take is from all of them or from none.
// It is safe for concurrent use.
type Multi struct {
	// SetBack makes the key follow clocks that are set back; see [StepBack]. To be
	// set before the first use.
	SetBack bool

	mu     sync.Mutex
	axis   axis
	levels []*level // in the order given
}

// NewMulti returns a key whose limits are all full. Without a limit everything
// passes. It panics if a limit is not valid or a name occurs twice.
func NewMulti(limits ...Limit) *Multi {
	m := &Multi{}
	m.set(limits)
	return m
}

// TakeAt takes n tokens from every limit at now, if all have them. n == 0 looks
// without taking.
func (m *Multi) TakeAt(now clock.Time, n int64) Decision {
	m.mu.Lock()
	defer m.mu.Unlock()
	late := m.to(now)
	d := Decision{At: m.axis.newest, Remaining: math.MaxInt64}
	if n < 0 {
		return Decision{At: m.axis.newest, TooCostly: true, RetryAfter: Never}
	}
	for _, v := range m.levels {
		if !v.ever(n) {
			d.TooCostly, d.RetryAfter = true, Never
			m.explain(&d, v)
			d.ResetAfter = add(d.ResetAfter, late)
			return d
		}
	}
	for _, v := range m.levels {
		if w := v.retry(n); w > d.RetryAfter {
			d.RetryAfter = w
			m.explain(&d, v)
		}
	}
	if d.RetryAfter > 0 {
		d.RetryAfter, d.ResetAfter = add(d.RetryAfter, late), add(d.ResetAfter, late)
		return d
	}
	d.Allowed = true
	if n > 0 {
		d.Receipt.marks = make(map[string]mark)
	}
	for i, v := range m.levels {
		if n > 0 {
			d.Receipt.marks[v.limit.Name] = v.mark(n)
			v.charge(n)
		}
		if left := v.remaining(); i == 0 || left < d.Remaining {
			m.explain(&d, v)
		}
	}
	d.ResetAfter = add(d.ResetAfter, late)
	return d
}

func (m *Multi) explain(d *Decision, v *level) {
	d.Limit, d.Remaining, d.ResetAfter = v.limit.Name, v.remaining(), v.reset()
}

// Peek is TakeAt of nothing.
func (m *Multi) Peek(now clock.Time) Decision { return m.TakeAt(now, 0) }

// Charge counts n tokens as used at now, whatever is left. n is at least 0.
func (m *Multi) Charge(now clock.Time, n int64) {
	m.each(now, func(v *level) { v.charge(n) })
}

// Credit gives n tokens back at now, down to nothing used. n is at least 0.
func (m *Multi) Credit(now clock.Time, n int64) {
	m.each(now, func(v *level) { v.credit(n) })
}

// Refund gives back at now what a take took: what each limit would have more
// without it, and never more. A limit that came into force after the take gives
// nothing back.
func (m *Multi) Refund(now clock.Time, r Receipt) {
	m.each(now, func(v *level) {
		if mark, ok := r.marks[v.limit.Name]; ok {
			v.refund(mark)
		}
	})
}

// Apply puts other limits into force at now. A limit is known by its name: what
// is used of it stays used. A new one starts full; one that is not named is gone.
func (m *Multi) Apply(now clock.Time, limits ...Limit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.axis.begun || now > m.axis.newest {
		m.to(now) // a change that is dated back does not set the clock back
	}
	m.set(limits)
}

// Used returns the exact number of tokens used at now of the limit named. It
// panics if there is none.
func (m *Multi) Used(now clock.Time, name string) *big.Rat {
	var used *big.Rat
	m.each(now, func(v *level) {
		if v.limit.Name == name {
			used = copied(v.used)
		}
	})
	if used == nil {
		panic("refmodel: no limit " + name)
	}
	return used
}

func (m *Multi) each(now clock.Time, do func(*level)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.to(now)
	for _, v := range m.levels {
		do(v)
	}
}

// to moves the key on to a caller's time and returns how late the caller is.
func (m *Multi) to(now clock.Time) (late time.Duration) {
	m.axis.setBack = m.SetBack
	at, late := m.axis.at(now)
	for _, v := range m.levels {
		v.to(at)
	}
	return late
}

func (m *Multi) set(limits []Limit) {
	levels := make([]*level, len(limits))
	for i, l := range limits {
		for _, v := range levels[:i] {
			if v.limit.Name == l.Name {
				panic("refmodel: two limits named " + l.Name)
			}
		}
		for _, v := range m.levels {
			if v.limit.Name == l.Name {
				v.set(l)
				levels[i] = v
			}
		}
		if levels[i] == nil {
			levels[i] = newLevel(l)
			levels[i].begun, levels[i].last = m.axis.begun, m.axis.newest
		}
	}
	m.levels = levels
}

func (m *Multi) first() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.levels[0].limit.Name
}
