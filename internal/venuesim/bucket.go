package venuesim

import "math/big"

// bucket counts what is left, in units of 1/per of a token: it gains tokens
// units in each nanosecond, and a token is per units. Both are whole numbers, so
// that nothing is rounded. A message counted beyond what is there leaves a debt.
type bucket struct {
	tokens, per, full, have *big.Int
	capacity                int64
	seen                    bool
	last                    int64 // have is as of then
	a, b                    big.Int
}

func newBucket(l Limit) *bucket {
	k := &bucket{tokens: big.NewInt(l.Tokens), per: big.NewInt(int64(l.Per)), capacity: l.Capacity()}
	k.full = new(big.Int).Mul(big.NewInt(k.capacity), k.per)
	k.have = new(big.Int).Set(k.full)
	return k
}

func (k *bucket) refill(at int64) {
	if !k.seen {
		k.seen, k.last = true, at
	}
	if at <= k.last {
		return
	}
	k.have.Add(k.have, k.a.Mul(k.a.SetInt64(at-k.last), k.tokens))
	if k.have.Cmp(k.full) > 0 {
		k.have.Set(k.full)
	}
	k.last = at
}

// units returns n tokens in units; the result lives until the next call.
func (k *bucket) units(n int64) *big.Int { return k.b.Mul(k.b.SetInt64(n), k.per) }

func (k *bucket) used(at int64) int64 {
	k.refill(at)
	return ceilDiv(k.a.Sub(k.full, k.have), k.per)
}

func (k *bucket) fits(at, n int64) bool {
	k.refill(at)
	return k.units(n).Cmp(k.have) <= 0
}

func (k *bucket) add(at, n int64) {
	k.refill(at)
	k.have.Sub(k.have, k.units(n))
}

func (k *bucket) earliest(at, n int64) int64 {
	switch {
	case k.fits(at, n):
		return at
	case n > k.capacity:
		return Never
	}
	return plus(at, ceilDiv(k.a.Sub(k.units(n), k.have), k.tokens))
}

func (k *bucket) credit(at, n int64) int64 {
	n = min(n, k.used(at))
	k.have.Add(k.have, k.units(n))
	if k.have.Cmp(k.full) > 0 {
		k.have.Set(k.full)
	}
	return n
}

func (k *bucket) most(start, end int64) int64 {
	return mostOfRate(k.capacity, k.tokens, k.per, start, end)
}

// mostOfRate is a full capacity at start and what comes back until the last
// instant of the span.
func mostOfRate(capacity int64, tokens, per *big.Int, start, end int64) int64 {
	if start >= end {
		return 0
	}
	gain := big.NewInt(end - 1 - start)
	gain.Quo(gain.Mul(gain, tokens), per)
	gain.Add(gain, big.NewInt(capacity))
	if !gain.IsInt64() {
		return Never
	}
	return gain.Int64()
}

// ceilDiv returns a/b rounded up, for a >= 0 and b > 0; Never if that is beyond
// int64. It spoils a.
func ceilDiv(a, b *big.Int) int64 {
	var rest big.Int
	a.QuoRem(a, b, &rest)
	if !a.IsInt64() {
		return Never
	}
	if rest.Sign() > 0 {
		return plus(a.Int64(), 1)
	}
	return a.Int64()
}
