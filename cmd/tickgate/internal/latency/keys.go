package latency

import (
	"math/rand/v2"
	"strings"
)

// keyLen is the length of every key in bytes.
const keyLen = 24

// minArrivals is the least length of a stream over many keys: long enough that
// branch predictors do not learn it.
const minArrivals = 1 << 17

// stream is an endless stream of keys. Their text lies in the order of arrival,
// as in a network buffer, so the random accesses to memory are those of the gate;
// it is one string, in which the garbage collector has nothing to follow.
type stream struct {
	text string
	at   int
}

// key returns key number i, keyLen bytes long; different numbers, different keys.
func key(i int) string { return string(appendKey(nil, i)) }

func appendKey(dst []byte, i int) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, "account-"...)
	// Odd multipliers and shifts down to the other half: every step can be undone,
	// so no two numbers meet, and neighbours differ everywhere.
	x := uint64(i) + 1
	for range 2 {
		x *= 0x9e3779b97f4a7c15
		x ^= x >> 32
	}
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, hex[x>>shift&15])
	}
	return dst
}

// inOrder streams the keys numbered from first on, n of them, over and over.
func inOrder(first, n int) *stream {
	var text strings.Builder
	text.Grow(n * keyLen)
	buf := make([]byte, 0, keyLen)
	for i := range n {
		text.Write(appendKey(buf, first+i))
	}
	return &stream{text: text.String()}
}

// shuffled streams the keys numbered 0 to n-1 in random permutations, the same
// ones in every run.
func shuffled(n int) *stream {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	rounds := (minArrivals + n - 1) / n
	var text strings.Builder
	text.Grow(rounds * n * keyLen)
	buf := make([]byte, 0, keyLen)
	for range rounds {
		rng.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, i := range order {
			text.Write(appendKey(buf, int(i)))
		}
	}
	return &stream{text: text.String()}
}

// next returns the next key.
func (s *stream) next() string {
	if s.at == len(s.text) {
		s.at = 0
	}
	s.at += keyLen
	return s.text[s.at-keyLen : s.at]
}
