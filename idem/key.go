package idem

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Key names what must happen once: who asks, for which operation, under which key
// of their own. Make it with [KeyOf].
type Key [32]byte

// String returns the key in hex. It is a digest: it tells nothing of a client's
// key that can be guessed less easily than tried.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// KeyOf returns the key of a client's idempotency key within an operation (such as
// "POST /memory/ingest") within a scope: who asks, usually the authenticated
// caller. Two callers never share a key, nor two operations.
//
// It is the SHA-256 over the three parts, each preceded by its length as 8 bytes,
// big-endian, so no two different triples have one input. The parts may hold any
// bytes and may be empty, but an empty scope makes all callers one. It does not
// allocate up to some 230 bytes.
func KeyOf(scope, operation, key string) Key {
	var room [256]byte
	b := room[:0]
	for _, part := range [...]string{scope, operation, key} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
		b = append(b, part...)
	}
	return sha256.Sum256(b)
}
