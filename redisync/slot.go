package redisync

import (
	"fmt"
	"io"
)

// Slot names a node in Redis: 4 to 32 of A-Z, a-z, 0-9, "-" and "_". It is new
// for every process: a node that starts again must not be taken for the one
// before.
type Slot string

// NewSlot returns a random Slot of 8 characters.
func NewSlot(random io.Reader) (Slot, error) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	var b [8]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("naming this node: %w", err)
	}
	for i := range b {
		b[i] = letters[b[i]&63]
	}
	return Slot(b[:]), nil
}

// Valid reports whether s may name a node. Shorter names are fields of the
// budget itself.
func (s Slot) Valid() bool {
	if len(s) < 4 || len(s) > 32 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}
