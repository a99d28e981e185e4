package bucket

import "math/bits"

// maxQ is the largest q. It must keep a year of refill, the largest capacity,
// within the word: 365 d in ns · 63 · 2 (doubled) = 3.97e18 < 2^62 = 4.61e18.
// It must also be large enough for the tolerance of rates that have no small
// fraction: rounding c up by less than one unit costs at most 1/(c) of the rate,
// with c/q nanoseconds a token. At 20,000/s c is at least 63·50,000, 0.32 ppm;
// at 1e6/s 63·1,000, 16 ppm; at 1e9/s 63, 1.6 %.
const maxQ = 63

// scale is a rate as q position units a nanosecond and c units a token.
type scale struct{ q, c uint64 }

// reduce finds the scale of tokens per nanoseconds, exact if the reduced
// fraction has q ≤ maxQ. Otherwise it is the closest scale that admits less.
// Both arguments must be positive.
func reduce(tokens, per int64) scale {
	q, c := uint64(tokens), uint64(per)
	if g := gcd(q, c); g > 1 {
		q, c = q/g, c/g
	}
	if q <= maxQ {
		return scale{q, c}
	}
	// Among q' = 1..maxQ take the one whose c' = ceil(c·q'/q) gives the smallest
	// c'/q': the fastest rate that is not faster than asked for.
	best := scale{1, ceilMulDiv(c, 1, q)}
	for n := uint64(2); n <= maxQ; n++ {
		s := scale{n, ceilMulDiv(c, n, q)}
		if less(s, best) {
			best = s
		}
	}
	if g := gcd(best.q, best.c); g > 1 {
		best.q, best.c = best.q/g, best.c/g
	}
	return best
}

// less reports whether a spends fewer nanoseconds a token than b.
func less(a, b scale) bool {
	ah, al := bits.Mul64(a.c, b.q)
	bh, bl := bits.Mul64(b.c, a.q)
	return ah < bh || ah == bh && al < bl
}

// ceilMulDiv is ceil(a·n/d) for results that fit, as they do where n ≤ d.
func ceilMulDiv(a, n, d uint64) uint64 {
	hi, lo := bits.Mul64(a, n)
	quo, rem := bits.Div64(hi%d, lo, d)
	if rem > 0 {
		quo++
	}
	return quo
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
