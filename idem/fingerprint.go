package idem

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
)

// Fingerprint tells one request from another under the same key. Make it with
// [FingerprintOf] or a [Hasher].
type Fingerprint [32]byte

// String returns the fingerprint in hex.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// FingerprintOf returns the fingerprint of a request: what a [Hasher] gives for
// the parts method, route and query, with body written.
func FingerprintOf(method, route, query string, body []byte) Fingerprint {
	h := NewHasher()
	h.Part(method)
	h.Part(route)
	h.Part(query)
	_, _ = h.Write(body) // a hash's Write never fails
	return h.Sum()
}

// Hasher makes a [Fingerprint] of parts, the last of which may be streamed: Part
// for each that is at hand, then Write, any number of times, for the last one,
// then Sum. How the last part is cut into Writes makes no difference.
//
// The input of the SHA-256 is each part preceded by its length, and the streamed
// part, empty if nothing was written, followed by its length; lengths are 8 bytes,
// big-endian. Read from both ends it can be taken apart in one way only. A part
// given after a Write is hashed like another streamed one.
//
// A Hasher is for one goroutine. Use [NewHasher]: the zero value is not usable.
type Hasher struct {
	sum      hash.Hash
	streamed uint64 // bytes of the streamed part so far
	open     bool   // something was streamed
}

var _ io.Writer = (*Hasher)(nil)

// NewHasher returns a Hasher with no parts.
func NewHasher() *Hasher { return &Hasher{sum: sha256.New()} }

// Part adds a part that is at hand.
func (h *Hasher) Part(s string) {
	if h.open {
		h.length(h.streamed)
		h.streamed = uint64(len(s))
	} else {
		h.length(uint64(len(s)))
	}
	_, _ = io.WriteString(h.sum, s) // a hash's Write never fails
}

// Write adds p to the last part. It never fails.
func (h *Hasher) Write(p []byte) (int, error) {
	h.open = true
	h.streamed += uint64(len(p))
	return h.sum.Write(p)
}

// Sum returns the fingerprint of what was added. It ends the Hasher: do not add
// to it, or sum it, again.
func (h *Hasher) Sum() Fingerprint {
	h.length(h.streamed)
	var f Fingerprint
	h.sum.Sum(f[:0])
	return f
}

func (h *Hasher) length(n uint64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	_, _ = h.sum.Write(b[:]) // a hash's Write never fails
}
