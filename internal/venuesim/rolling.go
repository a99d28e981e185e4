package venuesim

// rolling keeps every event of the last per, oldest first.
type rolling struct {
	tokens, per int64
	events      []event
	sum         int64 // of the events' tokens
}

type event struct{ at, n int64 }

// drop forgets the events that are per old or older.
func (r *rolling) drop(at int64) {
	i := 0
	for i < len(r.events) && at-r.events[i].at >= r.per {
		r.sum -= r.events[i].n
		i++
	}
	r.events = r.events[i:]
}

func (r *rolling) used(at int64) int64 {
	r.drop(at)
	return r.sum
}

func (r *rolling) fits(at, n int64) bool {
	r.drop(at)
	return plus(r.sum, n) <= r.tokens
}

// add keeps the sum within int64, so that it stays the sum of what is listed.
func (r *rolling) add(at, n int64) {
	r.drop(at)
	n = min(n, Never-r.sum)
	r.events = append(r.events, event{at, n})
	r.sum += n
}

func (r *rolling) earliest(at, n int64) int64 {
	switch {
	case r.fits(at, n):
		return at
	case n > r.tokens:
		return Never
	}
	left := r.sum
	for _, e := range r.events {
		if left -= e.n; plus(left, n) <= r.tokens {
			return e.at + r.per
		}
	}
	return Never // not reached: with no event left, n fits
}

// credit takes from the latest events: what is given back is most likely theirs,
// and it leaves the count higher for longer than taking from the oldest would.
func (r *rolling) credit(at, n int64) int64 {
	r.drop(at)
	n = min(n, r.sum)
	r.sum -= n
	for left := n; left > 0; {
		last := &r.events[len(r.events)-1]
		part := min(left, last.n)
		last.n -= part
		left -= part
		if last.n == 0 {
			r.events = r.events[:len(r.events)-1]
		}
	}
	return n
}

// most is reached by the whole limit at once, every per.
func (r *rolling) most(start, end int64) int64 {
	if start >= end {
		return 0
	}
	return times(r.tokens, (end-1-start)/r.per+1)
}
