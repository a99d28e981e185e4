// Package load makes the requests that every limiter is measured with: the
// same keys, in the same order, under the same limits.
package load

import "fmt"

// KeyLen is the length in bytes of every key.
const KeyLen = 24

// Key returns key number i, KeyLen bytes long, in storage of its own. Different
// numbers give different keys.
func Key(i int) string {
	return string(AppendKey(nil, i))
}

// AppendKey appends key number i to dst and returns the extended slice.
func AppendKey(dst []byte, i int) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, "account-"...)
	for v, shift := mix(uint64(i)), 60; shift >= 0; shift -= 4 {
		dst = append(dst, digits[v>>shift&15])
	}
	return dst
}

// mix spreads consecutive numbers over all 64 bits. Every step can be undone,
// so two numbers never give the same key.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	return x ^ x>>32
}

// Label is how a number of keys is written in a benchmark's name: 1, 10k, 1M.
func Label(keys int) string {
	switch {
	case keys >= 1_000_000 && keys%1_000_000 == 0:
		return fmt.Sprintf("%dM", keys/1_000_000)
	case keys >= 1000 && keys%1000 == 0:
		return fmt.Sprintf("%dk", keys/1000)
	}
	return fmt.Sprint(keys)
}
