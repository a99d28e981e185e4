package tickgate_test

import (
	"encoding/binary"
	"math/bits"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"
)

// The two multipliers of xxhash64's rounds, and its four lanes' first values.
const (
	prime1 = 0x9E3779B185EBCA87
	prime2 = 0xC2B2AE3D27D4EB4F
)

var lanes = [4]uint64{(prime1 + prime2) & (1<<64 - 1), prime2, 0, 1<<64 - prime1}

// inverse is the number that gives 1 with an odd n, modulo 2^64. Each step of
// Newton's doubles the bits that are right; n is its own inverse to three bits.
func inverse(n uint64) uint64 {
	x := n
	for range 5 {
		x *= 2 - n*x
	}
	return x
}

func round(acc, input uint64) uint64 {
	return bits.RotateLeft64(acc+input*prime2, 31) * prime1
}

// colliding returns n different keys of 64 bytes with one xxhash64. Of 64 bytes
// the hash sees two stripes of 32; whatever the first one is, the second can be
// chosen so that every lane comes out the same.
func colliding(t testing.TB, n int) []string {
	const second = 0x0123456789ABCDEF // of the first key, in every lane
	keys := make([]string, n)
	var want [4]uint64 // acc + input·prime2 of the first key's second stripe
	for i := range keys {
		var b [64]byte
		for lane := range lanes {
			first := uint64(i)<<8 | uint64(lane)
			acc := round(lanes[lane], first)
			if i == 0 {
				want[lane] = acc + second*prime2&(1<<64-1)
			}
			binary.LittleEndian.PutUint64(b[8*lane:], first)
			binary.LittleEndian.PutUint64(b[32+8*lane:], (want[lane]-acc)*inverse(prime2))
		}
		keys[i] = string(b[:])
		require.Equal(t, xxhash.Sum64String(keys[0]), xxhash.Sum64String(keys[i]), "not a collision")
	}
	return keys
}
