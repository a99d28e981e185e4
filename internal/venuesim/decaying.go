package venuesim

import "math/big"

// decaying counts what was taken, in units of 1/per of a token: the level falls
// by tokens units in each nanosecond down to zero. It is written apart from
// bucket, from the venue's own description, though the two must always agree.
type decaying struct {
	tokens, per, ceiling, level *big.Int
	capacity                    int64
	last                        int64 // level is as of then
	a, b                        big.Int
}

func newDecaying(l Limit) *decaying {
	d := &decaying{tokens: big.NewInt(l.Tokens), per: big.NewInt(int64(l.Per)), capacity: l.Capacity(), level: new(big.Int)}
	d.ceiling = new(big.Int).Mul(big.NewInt(d.capacity), d.per)
	return d
}

func (d *decaying) decay(at int64) {
	// At level zero there is nothing to lose, whenever the last time was.
	if d.level.Sign() > 0 {
		d.level.Sub(d.level, d.a.Mul(d.a.SetInt64(at-d.last), d.tokens))
		if d.level.Sign() < 0 {
			d.level.SetInt64(0)
		}
	}
	d.last = at
}

// raised returns the level n tokens higher; it lives until the next call.
func (d *decaying) raised(n int64) *big.Int {
	return d.b.Add(d.b.Mul(d.b.SetInt64(n), d.per), d.level)
}

func (d *decaying) used(at int64) int64 {
	d.decay(at)
	return ceilDiv(d.a.Set(d.level), d.per)
}

func (d *decaying) fits(at, n int64) bool {
	d.decay(at)
	return d.raised(n).Cmp(d.ceiling) <= 0
}

func (d *decaying) add(at, n int64) {
	d.decay(at)
	d.level.Set(d.raised(n))
}

func (d *decaying) earliest(at, n int64) int64 {
	switch {
	case d.fits(at, n):
		return at
	case n > d.capacity:
		return Never
	}
	return plus(at, ceilDiv(d.a.Sub(d.raised(n), d.ceiling), d.tokens))
}

func (d *decaying) credit(at, n int64) int64 {
	n = min(n, d.used(at))
	d.level.Set(d.raised(-n))
	if d.level.Sign() < 0 {
		d.level.SetInt64(0)
	}
	return n
}

func (d *decaying) most(start, end int64) int64 {
	return mostOfRate(d.capacity, d.tokens, d.per, start, end)
}
