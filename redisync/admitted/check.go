package admitted

import (
	"cmp"
	"slices"
	"time"
)

// Event is one admission: N tokens of a key, at some time from Before to After, in ns
// of one monotonic clock, with Before <= After.
type Event struct {
	Before, After int64
	N             int32
	Key           uint32 // a number for the key, for those who keep several; Check does not look at it
}

// Limit is what a history is checked against: Tokens in each Per, at most Capacity
// at once. Per is above 0, the others 0 or more.
type Limit struct {
	Tokens   int64
	Per      time.Duration
	Capacity int64
}

// Budget returns the tokens that may pass within d: the capacity and what d refills.
func (l Limit) Budget(d time.Duration) float64 {
	return float64(l.Capacity) + l.Refill(d)
}

// Refill returns the tokens that d refills.
func (l Limit) Refill(d time.Duration) float64 {
	return float64(d) * float64(l.Tokens) / float64(l.Per)
}

// Overshoot is by how much a history exceeds a limit.
//
// When an admission happened is known only to the interval from before to after its
// call. So O, the most by which the admissions of any window exceed the capacity and
// what the window refills, has two values:
//
//	Low   no choice of times makes O less, but see below: what surely was
//	High  the choice that makes O largest: what may have been
//
// A bound is kept if High is not above it, and nearly reached if Low is near it.
// With exact times both are max(0, -min l), where l = min(C, l + r·dt) - n is the
// level of the bucket after each admission.
//
// High is exact: of every window it counts the admissions whose intervals touch it,
// and they can all have been in it. Low counts those that lie within a window, less
// those whose intervals reach beyond it on both sides; so it errs, if at all, to the
// low side.
type Overshoot struct {
	Low, High float64 // tokens

	// The window of High, in ns of the events' clock. It need not be
	// the only one. Zero where nothing was exceeded.
	From, To int64

	Events   int
	Admitted int64 // tokens
}

// edge is one end of admissions.
type edge struct{ at, n int64 }

// Check measures a history of one key, in any order, which it does not change. It is
// exact, in integers, as
// long as the admitted tokens times Per in ns, and Tokens times the span of the
// history in ns, are below 2^62. It sorts; the rest is linear.
func Check(events []Event, l Limit) Overshoot {
	o := Overshoot{Events: len(events)}
	if len(events) == 0 {
		return o
	}
	begun, ended := make([]edge, len(events)), make([]edge, len(events))
	zero := events[0].Before
	for i, e := range events {
		zero = min(zero, e.Before)
		begun[i], ended[i] = edge{e.Before, int64(e.N)}, edge{e.After, int64(e.N)}
		o.Admitted += int64(e.N)
	}
	begun, ended = merge(begun, zero), merge(ended, zero)

	// Everything below is in tokens times Per. A window from s to e exceeds by what
	// is counted in it, less Tokens·(e-s), less the capacity.
	per, tokens := int64(l.Per), l.Tokens
	capacity := l.Capacity * per
	var high, low int64

	// High: counted are those with before <= e and not after < s, which is what had
	// begun by e less what had ended before s. s is best at an end, or at e.
	var begunBy, endedBefore, i int64
	best := edge{0, 0} // n: the least of endedBefore·per - tokens·s, at s = at
	for k, b := range begun {
		begunBy += b.n
		for int(i) < len(ended) && ended[i].at <= b.at {
			best = lesser(best, edge{ended[i].at, endedBefore*per - tokens*ended[i].at}, k == 0 && i == 0)
			endedBefore += ended[i].n
			i++
		}
		before := endedBefore
		if i > 0 && ended[i-1].at == b.at {
			before -= ended[i-1].n
		}
		best = lesser(best, edge{b.at, before*per - tokens*b.at}, k == 0 && i == 0)
		if over := begunBy*per - tokens*b.at - best.n - capacity; over > high {
			high = over
			o.From, o.To = best.at+zero, b.at+zero
		}
	}

	// Low: counted is what had ended by e less what had begun before s.
	var endedBy, begunBefore int64
	most, j := int64(0), 0
	for _, e := range ended {
		endedBy += e.n
		for j < len(begun) && begun[j].at <= e.at {
			if m := tokens*begun[j].at - begunBefore*per; j == 0 || m > most {
				most = m
			}
			begunBefore += begun[j].n
			j++
		}
		low = max(low, endedBy*per-tokens*e.at+most-capacity)
	}
	o.High, o.Low = float64(high)/float64(per), float64(low)/float64(per)
	return o
}

func lesser(a, b edge, first bool) edge {
	if first || b.n < a.n {
		return b
	}
	return a
}

// merge sorts edges, adds up those at the same time, and counts time from zero.
func merge(edges []edge, zero int64) []edge {
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	out := edges[:0]
	for _, e := range edges {
		if e.at -= zero; len(out) > 0 && out[len(out)-1].at == e.at {
			out[len(out)-1].n += e.n
		} else {
			out = append(out, e)
		}
	}
	return out
}
