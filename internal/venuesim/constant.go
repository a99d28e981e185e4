package venuesim

// constant is the count of a limit that counts nothing: it always says the same.
type constant struct{ pass bool }

func (c constant) used(int64) int64           { return 0 }
func (c constant) fits(_, _ int64) bool       { return c.pass }
func (c constant) add(_, _ int64)             {}
func (c constant) credit(_, _ int64) int64    { return 0 }
func (c constant) earliest(at, _ int64) int64 { return c.whenPass(at) }

func (c constant) most(start, end int64) int64 {
	if start >= end {
		return 0
	}
	if c.pass {
		return Never
	}
	return 0
}

func (c constant) whenPass(at int64) int64 {
	if c.pass {
		return at
	}
	return Never
}
