package shard

import (
	"encoding/binary"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// Key is a key ready to be looked up: hash, identity and first bytes. It lives on
// the caller's stack.
type Key struct {
	hash  uint64
	ident uint64
	head  head
	tail  []byte // what does not fit into head
}

// head is the first 24 bytes of a key. It is a struct, not an array, so that it is
// passed in registers: through memory it cost 22 ns of a decision.
type head struct{ a, b, c uint64 }

// ident tells apart what equal bytes would not, and most keys before their bytes
// are looked at.
//
//	 63        40 39       24 23   19 18      9 8        0
//	┌────────────┬───────────┬───────┬─────────┬──────────┐
//	│ tag 24     │ policy 16 │ 0     │ apikey  │ endpoint │ lengths
//	└────────────┴───────────┴───────┴─────────┴──────────┘
//
// The endpoint is part of the key only where no policy names it: then two
// endpoints under the default policy are two keys.
func ident(hash uint64, policy uint16, apikey, endpoint int) uint64 {
	return hash<<8&^(1<<40-1) | uint64(policy)<<24 | uint64(apikey)<<9 | uint64(endpoint)
}

func identPolicy(id uint64) uint16 { return uint16(id >> 24) }
func identApikey(id uint64) int    { return int(id >> 9 & (1<<10 - 1)) }
func identEndpoint(id uint64) int  { return int(id & (1<<9 - 1)) }

// Named makes the key of apikey under a policy of its own. The apikey must have
// 1 to 256 bytes. The key is returned, not written through a pointer, so that the
// compiler sees that no name outlives the decision.
func (p *Policy) Named(apikey string) Key {
	h := mix(xxhash.Sum64String(apikey), p.salt)
	k := Key{hash: h, ident: ident(h, p.index, len(apikey), 0)}
	k.head, k.tail = split(unsafe.Slice(unsafe.StringData(apikey), len(apikey))) // only read
	return k
}

// Unnamed makes the key of apikey and an endpoint that p, the default policy,
// answers for. Both must have 1 to 256 bytes; buf is room for them.
func (p *Policy) Unnamed(apikey, endpoint string, buf []byte) Key {
	// The endpoint's hash is multiplied, or all pairs of two equal names would have
	// one hash, and every pair that of the two names swapped.
	h := mix(xxhash.Sum64String(apikey), p.salt^xxhash.Sum64String(endpoint)*0xC2B2AE3D27D4EB4F)
	k := Key{hash: h, ident: ident(h, p.index, len(apikey), len(endpoint))}
	k.head, k.tail = split(append(append(buf[:0], apikey...), endpoint...))
	return k
}

// split returns the first bytes of a name as words, zero-padded, and the rest.
func split(b []byte) (h head, tail []byte) {
	n := len(b)
	switch {
	case n >= inlineKey:
		h.a = binary.LittleEndian.Uint64(b)
		h.b = binary.LittleEndian.Uint64(b[8:])
		h.c = binary.LittleEndian.Uint64(b[16:])
		tail = b[inlineKey:]
	case n > 16:
		h.a = binary.LittleEndian.Uint64(b)
		h.b = binary.LittleEndian.Uint64(b[8:])
		h.c = binary.LittleEndian.Uint64(b[n-8:]) >> (8 * (24 - uint(n)))
	case n >= 8:
		h.a = binary.LittleEndian.Uint64(b)
		h.b = binary.LittleEndian.Uint64(b[n-8:]) >> (8 * (16 - uint(n)))
	case n >= 4:
		// Two halves that overlap: where they do, they agree.
		h.a = uint64(binary.LittleEndian.Uint32(b)) |
			uint64(binary.LittleEndian.Uint32(b[n-4:]))<<(8*(uint(n)-4))
	case n > 0:
		h.a = uint64(b[0]) | uint64(b[n/2])<<(8*(uint(n)/2)) | uint64(b[n-1])<<(8*(uint(n)-1))
	}
	return h, tail
}

// mix joins two hashes. The multiplier is the golden ratio, odd; the shift
// brings the high bits, which choose the shard, down into the low ones, which
// choose the slot.
func mix(a, b uint64) uint64 {
	h := (a ^ b) * 0x9E3779B97F4A7C15
	return h ^ h>>32
}

// is reports whether slot i holds k. The answer counts only if the slot's
// incarnation did not change meanwhile.
func (t *Table) is(i uint32, s *slot, k *Key) bool {
	if s.ident.Load() != k.ident || s.key[0].Load() != k.head.a ||
		s.key[1].Load() != k.head.b || s.key[2].Load() != k.head.c {
		return false
	}
	return len(k.tail) == 0 || t.isTail(i, k.tail)
}

func (t *Table) isTail(i uint32, tail []byte) bool {
	e := t.ext(i)
	for j := 0; len(tail) > 0; j++ {
		var w uint64
		w, tail = chunk(tail)
		if e[j].Load() != w {
			return false
		}
	}
	return true
}

// keyBytes copies the first n bytes of the key at w to b, which has room for whole words
// of eight. They count only if w's incarnation did not change meanwhile.
func (t *Table) keyBytes(w place, b []byte, n int) {
	for j := 0; j < n; j += 8 {
		var word uint64
		if j < inlineKey {
			word = w.s.key[j/8].Load()
		} else {
			word = t.ext(w.i)[(j-inlineKey)/8].Load()
		}
		binary.LittleEndian.PutUint64(b[j:], word)
	}
}

// write puts k into slot i, which the caller owns.
func (t *Table) write(i uint32, s *slot, k *Key) {
	s.ident.Store(k.ident)
	s.key[0].Store(k.head.a)
	s.key[1].Store(k.head.b)
	s.key[2].Store(k.head.c)
	if len(k.tail) > 0 {
		e := t.ext(i)
		for j, tail := 0, k.tail; len(tail) > 0; j++ {
			var w uint64
			w, tail = chunk(tail)
			e[j].Store(w)
		}
	}
}

// chunk returns the first 8 bytes of b as a word, zero-padded, and the rest.
func chunk(b []byte) (uint64, []byte) {
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b), b[8:]
	}
	var p [8]byte
	copy(p[:], b)
	return binary.LittleEndian.Uint64(p[:]), nil
}
