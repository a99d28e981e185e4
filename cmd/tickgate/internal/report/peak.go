package report

import (
	"cmp"
	"slices"
)

const (
	second = int64(1e9)
	// horizon is how late a request may be for the peak to stay exact. Servers
	// log a request when it ends under the time it began, so a log runs a
	// little backwards all the time; ten minutes is more than a request takes.
	// A request later than that starts a new recording, as a second file with
	// older times does, and its windows are counted apart.
	horizon = 600 * second
	// compactAt is the least number of ticks worth compacting.
	compactAt = 4096
)

// tick is n requests at one time.
type tick struct {
	at int64
	n  int64
}

// peak finds the most requests in any window (t-1s, t] over recorded times
// that may be out of order. It keeps the ticks of the last horizon, and finds
// each window's count by one sweep over them in order.
type peak struct {
	ticks  []tick // in order of arrival since the last sweep, equal neighbours joined
	sorted bool   // ticks are in order of time; meaningless while empty
	newest int64
	limit  int // length at which the next sweep happens
	best   int64
	bestAt int64
}

func (p *peak) add(at int64) {
	n := len(p.ticks)
	switch {
	case n == 0:
		p.newest, p.sorted = at, true
	case at < p.newest-horizon:
		p.sweep()
		p.ticks, p.newest, p.sorted = p.ticks[:0], at, true
	case p.ticks[n-1].at == at:
		p.ticks[n-1].n++
		return
	case at < p.ticks[n-1].at:
		p.sorted = false
	}
	p.ticks = append(p.ticks, tick{at, 1})
	p.newest = max(p.newest, at)
	if len(p.ticks) >= max(p.limit, compactAt) {
		p.sweep()
		p.drop()
		p.limit = 2 * len(p.ticks)
	}
}

// sweep puts the ticks in order and looks at every window that ends at one. A
// count found now can only be too low, by requests yet to come, and then a
// later sweep finds the higher one.
func (p *peak) sweep() {
	if !p.sorted {
		slices.SortFunc(p.ticks, func(a, b tick) int { return cmp.Compare(a.at, b.at) })
		kept := p.ticks[:0]
		for _, t := range p.ticks {
			if n := len(kept); n > 0 && kept[n-1].at == t.at {
				kept[n-1].n += t.n
			} else {
				kept = append(kept, t)
			}
		}
		p.ticks, p.sorted = kept, true
	}
	count, tail := int64(0), 0
	for _, t := range p.ticks {
		count += t.n
		for p.ticks[tail].at <= t.at-second {
			count -= p.ticks[tail].n
			tail++
		}
		if count > p.best || (count == p.best && t.at < p.bestAt) {
			p.best, p.bestAt = count, t.at
		}
	}
}

// drop forgets ticks that no window of a request within the horizon reaches.
func (p *peak) drop() {
	cut := p.newest - horizon - second
	i, _ := slices.BinarySearchFunc(p.ticks, cut, func(t tick, at int64) int { return cmp.Compare(t.at, at) })
	p.ticks = append(p.ticks[:0], p.ticks[i:]...)
}

// result returns the highest count and the earliest end of a window that has it.
func (p *peak) result() (count, at int64) {
	p.sweep()
	return p.best, p.bestAt
}
