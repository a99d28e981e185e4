package load

import "strings"

// minArrivals is the least length of a stream over more than one key: long
// enough that the branch predictors of the machine do not learn it.
const minArrivals = 1 << 17

// Arrivals returns the keys of a stream of requests over keys numbers 0 to
// keys-1: random permutations of all of them, one after the other, always the
// same for the same number of keys. With one key the stream has length 1.
//
// Every request has its own copy of its key, and the copies lie in the order of
// arrival, as they do in a network buffer. So reading a key is cheap for every
// limiter, comparing it means reading two places, and the only random memory
// accesses are those of the limiter.
func Arrivals(keys int) []string {
	if keys == 1 {
		return []string{Key(0)}
	}
	n := keys
	for n < minArrivals {
		n += keys
	}
	order := make([]uint32, 0, n)
	rng := xorshift(0x2545f4914f6cdd1d)
	for len(order) < n {
		round := order[len(order) : len(order)+keys]
		for i := range round {
			round[i] = uint32(i)
		}
		for i := keys - 1; i > 0; i-- {
			j := rng.next() % uint64(i+1)
			round[i], round[j] = round[j], round[i]
		}
		order = order[:len(order)+keys]
	}

	var text strings.Builder
	text.Grow(n * KeyLen)
	buf := make([]byte, 0, KeyLen)
	for _, i := range order {
		buf = AppendKey(buf[:0], int(i))
		text.Write(buf)
	}
	all := text.String()
	out := make([]string, n)
	for i := range out {
		out[i] = all[i*KeyLen : (i+1)*KeyLen]
	}
	return out
}

// xorshift is a generator whose every step is three shifts: its quality is
// enough to make an order random, and it gives the same order everywhere.
type xorshift uint64

func (x *xorshift) next() uint64 {
	v := uint64(*x)
	v ^= v << 13
	v ^= v >> 7
	v ^= v << 17
	*x = xorshift(v)
	return v
}
