package refmodel

import (
	"math/big"
	"time"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// slack is how far windows may overlap that are taken to follow each other: a
// wall clock that is kept right moves a little all the time.
const slack = time.Millisecond

// aligned counts in windows that begin at whole multiples of Per of the wall
// clock. What a window counts holds until Skew after its end, and what happens in
// that time counts in it and in the next one:
//
//	│◀──────── window k ────────▶│
//	                             │◀─────── window k+1 ───────▶│
//	├────────── k counts ────────┼ Skew ┤
//	                             ├────────── k+1 counts ──────┼ Skew ┤
//
// Which window is in force is known when something is counted: its end is fixed
// then, on the axis of the key, wherever the wall clock goes. The one after it is
// the one in which its end lies by the wall clock of then. If that had begun
// before the end, by more than Skew and slack, the clock was moved, and what the
// old window counted counts in it as well.
//
// Instants are integers of any size, since a window may end after the last
// [clock.Time].
type aligned struct {
	limit Limit
	now   *big.Int

	// windows are those that counted at the last call that counted something, in
	// their order; the last one of them was in force then.
	windows []*window
}

// window is one window of an aligned.
type window struct {
	end     *big.Int
	count   int64
	carries *window // counts what this one counted as well; nil: none
}

func (a *aligned) of() Limit { return a.limit }

// adopt keeps the windows and what they count. With more skew, none counts again
// that counted no more.
func (a *aligned) adopt(l Limit) bool {
	if l.Window != policy.Aligned || l.Per != a.limit.Per {
		return false
	}
	if l.Skew != a.limit.Skew && a.now != nil {
		if a.highest() > 0 {
			a.windows = a.at(a.now)
		} else {
			a.windows = nil
		}
	}
	a.limit = l
	return true
}

func (a *aligned) to(t clock.Time) { a.now = big.NewInt(int64(t)) }

// ahead is how far the wall clock is ahead of the key's time, now.
func (a *aligned) ahead() *big.Int {
	if a.limit.Wall == nil {
		return new(big.Int)
	}
	wall := big.NewInt(a.limit.Wall(clock.Time(a.now.Int64())))
	return wall.Sub(wall, a.now)
}

// around returns the start and the end of the window in which t lies.
func (a *aligned) around(t *big.Int) (start, end *big.Int) {
	per := big.NewInt(a.limit.Per)
	in := new(big.Int).Add(t, a.ahead())
	in.Mod(in, per) // since the start; Euclidean, so at least 0
	start = new(big.Int).Sub(t, in)
	return start, new(big.Int).Add(start, per)
}

// holds is the first instant at which w counts no more.
func (a *aligned) holds(w *window) *big.Int {
	return new(big.Int).Add(w.end, big.NewInt(int64(a.limit.Skew)))
}

// at returns the windows that count at t, which is now or later, by the wall clock
// of now and if nothing is counted until then. The last one is in force.
func (a *aligned) at(t *big.Int) []*window {
	var count []*window
	for _, w := range a.windows {
		if t.Cmp(a.holds(w)) < 0 {
			count = append(count, w)
		}
	}
	if k := len(a.windows); k > 0 {
		last := a.windows[k-1]
		if t.Cmp(last.end) < 0 {
			return count
		}
		start, end := a.around(last.end)
		before := new(big.Int).Sub(last.end, start)
		if before.Cmp(big.NewInt(int64(max(a.limit.Skew, slack)))) > 0 {
			next := &window{end, last.count, last}
			if t.Cmp(a.holds(next)) < 0 {
				count = append(count, next)
			}
			if t.Cmp(next.end) < 0 {
				return count
			}
		}
	}
	_, end := a.around(t)
	return append(count, &window{end: end})
}

// change changes what every window counts. If none counts anything before and
// after, nothing opens.
func (a *aligned) change(to func(*window) int64) {
	windows, any := a.at(a.now), false
	for _, w := range windows {
		before := w.count
		w.count = to(w)
		any = any || before > 0 || w.count > 0
	}
	if any {
		a.windows = windows
	}
}

func (a *aligned) charge(n int64) {
	a.change(func(w *window) int64 { return a.limit.charged(w.count, n) })
}

func (a *aligned) credit(n int64) {
	a.change(func(w *window) int64 { return w.count - min(n, w.count) })
}

// inWindows is a take of n tokens that counted in some windows.
type inWindows struct {
	windows []*window
	n       int64
}

func (a *aligned) take(n int64) mark {
	a.charge(n)
	return inWindows{a.windows, n}
}

// refund gives back in the windows that count the take now.
func (a *aligned) refund(of mark) {
	m, ok := of.(inWindows)
	if !ok {
		return
	}
	a.change(func(w *window) int64 {
		for v := w; v != nil; v = v.carries {
			for _, in := range m.windows {
				if v == in {
					return w.count - min(m.n, w.count)
				}
			}
		}
		return w.count
	})
}

func (a *aligned) wait(n int64, urgent bool, after time.Duration) time.Duration {
	return a.without(after, func(w *window) bool { return w.count > a.limit.room(urgent)-n })
}

func (a *aligned) reset() time.Duration {
	return a.without(0, func(w *window) bool { return w.count > 0 })
}

// without is the least wait, after or longer, after which no window counts that
// is in the way.
func (a *aligned) without(after time.Duration, inTheWay func(*window) bool) time.Duration {
	t := new(big.Int).Add(a.now, big.NewInt(int64(after)))
	for again := true; again; {
		again = false
		for _, w := range a.at(t) {
			if inTheWay(w) {
				t, again = a.holds(w), true
			}
		}
	}
	return saturate(t.Sub(t, a.now))
}

// highest is what the window counts that counts most.
func (a *aligned) highest() int64 {
	highest := int64(0)
	for _, w := range a.at(a.now) {
		highest = max(highest, w.count)
	}
	return highest
}

func (a *aligned) used() *big.Rat { return whole(a.highest()) }

func (a *aligned) left(urgent bool) int64 { return max(0, a.limit.room(urgent)-a.highest()) }
