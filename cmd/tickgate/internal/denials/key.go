package denials

import (
	"crypto/sha256"
	"encoding/hex"
)

// digits is how much of a hash is shown: 48 bits, so that two of a million keys look
// the same once in 500 processes.
const digits = 12

// Name returns what stands for a key in all that this log shows: the first 12 digits of
// the SHA-256 of a secret of this process and the key, or with ShowKeys the key. Of a
// longer key only the first 256 bytes count.
func (l *Log) Name(apikey string) string {
	if l.cfg.ShowKeys {
		return short(apikey)
	}
	var salted [len(l.salt) + longest]byte
	n := copy(salted[:], l.salt[:])
	n += copy(salted[n:], apikey)
	sum := sha256.Sum256(salted[:n])
	var text [digits]byte
	hex.Encode(text[:], sum[:digits/2])
	return string(text[:])
}

// Shown reports whether names are the keys themselves.
func (l *Log) Shown() bool { return l.cfg.ShowKeys }
