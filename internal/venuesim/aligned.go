package venuesim

// aligned counts in windows whose boundaries stand on the venue's clock.
type aligned struct {
	tokens, per, phase int64
	window             int64 // number of the window that count is of
	count              int64
}

func (a *aligned) number(at int64) int64 { return floorDiv(at-a.phase, a.per) }

func (a *aligned) turn(at int64) {
	if w := a.number(at); w != a.window {
		a.window, a.count = w, 0
	}
}

func (a *aligned) used(at int64) int64 {
	a.turn(at)
	return a.count
}

func (a *aligned) fits(at, n int64) bool {
	a.turn(at)
	return plus(a.count, n) <= a.tokens
}

func (a *aligned) add(at, n int64) {
	a.turn(at)
	a.count = plus(a.count, n)
}

func (a *aligned) earliest(at, n int64) int64 {
	switch {
	case a.fits(at, n):
		return at
	case n > a.tokens:
		return Never
	}
	return (a.window+1)*a.per + a.phase
}

func (a *aligned) credit(at, n int64) int64 {
	a.turn(at)
	n = min(n, a.count)
	a.count -= n
	return n
}

func (a *aligned) most(start, end int64) int64 {
	if start >= end {
		return 0
	}
	return times(a.tokens, a.number(end-1)-a.number(start)+1)
}

// floorDiv returns a/b rounded down, for b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
