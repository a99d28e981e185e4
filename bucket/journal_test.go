package bucket

import (
	"slices"

	"github.com/tickgate/tickgate/clock"
)

// journal is what was let through and not given back, in any order: what a venue
// would see that has our clock and counts as it says.
type journal []sent

type sent struct {
	at clock.Time
	n  int64
}

// without removes what was given back before it was sent.
func (j journal) without(k int) journal { return slices.Delete(slices.Clone(j), k, k+1) }

func (j journal) sorted() journal {
	j = slices.Clone(j)
	slices.SortFunc(j, func(a, b sent) int { return int(min(max(a.at-b.at, -1), 1)) })
	return j
}

// mostInSpan is the most in any span [t, t+span).
func (j journal) mostInSpan(span int64) (most int64) {
	j = j.sorted()
	sum, from := int64(0), 0
	for _, e := range j {
		sum += e.n
		for ; j[from].at+clock.Time(span) <= e.at; from++ {
			sum -= j[from].n
		}
		most = max(most, sum)
	}
	return most
}

// mostFromFirst is the most in any window that opens with the first event after the
// one before.
func (j journal) mostFromFirst(span int64) (most int64) {
	var end clock.Time
	sum := int64(0)
	for i, e := range j.sorted() {
		if i == 0 || e.at >= end {
			end, sum = e.at+clock.Time(span), 0
		}
		sum += e.n
		most = max(most, sum)
	}
	return most
}

// mostAligned is the most in any window of wall time, of a wall clock that is
// offset ahead.
func (j journal) mostAligned(span, offset int64) (most int64) {
	sums := make(map[int64]int64)
	for _, e := range j {
		wall := int64(e.at) + offset
		k := wall / span
		if wall%span < 0 {
			k--
		}
		sums[k] += e.n
		most = max(most, sums[k])
	}
	return most
}
