package venuesim

// fromFirst counts in windows that the first message opens.
type fromFirst struct {
	tokens, per int64
	open        bool
	start       int64 // of the open window
	count       int64
}

func (f *fromFirst) turn(at int64) {
	if f.open && at-f.start >= f.per {
		f.open, f.count = false, 0
	}
}

func (f *fromFirst) used(at int64) int64 {
	f.turn(at)
	return f.count
}

func (f *fromFirst) fits(at, n int64) bool {
	f.turn(at)
	return plus(f.count, n) <= f.tokens
}

func (f *fromFirst) add(at, n int64) {
	f.turn(at)
	if !f.open {
		f.open, f.start = true, at
	}
	f.count = plus(f.count, n)
}

func (f *fromFirst) earliest(at, n int64) int64 {
	switch {
	case f.fits(at, n):
		return at
	case n > f.tokens:
		return Never
	}
	return f.start + f.per
}

// credit leaves the window open: the message that opened it was received.
func (f *fromFirst) credit(at, n int64) int64 {
	f.turn(at)
	n = min(n, f.count)
	f.count -= n
	return n
}

// most is reached by windows that follow each other at once.
func (f *fromFirst) most(start, end int64) int64 {
	if start >= end {
		return 0
	}
	return times(f.tokens, (end-1-start)/f.per+1)
}
