package envoyrls

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxKey is the longest apikey of a gate, in bytes.
const maxKey = 256

var escapeKey = strings.NewReplacer(`\`, `\\`, `|`, `\|`)

// apikey joins the values of one rule to a key, with | between them. A rule has always
// as many, so different values are different keys: | and \ in a value have a \ before
// them, and a \ before anything else is ours: \e is the empty key, \h stands before the
// SHA-256 of one that is too long. A single value without those characters is its own
// key.
func apikey(values []string) string {
	var s string
	switch len(values) {
	case 0:
	case 1:
		s = escapeKey.Replace(values[0])
	default:
		escaped := make([]string, len(values))
		for i, v := range values {
			escaped[i] = escapeKey.Replace(v)
		}
		s = strings.Join(escaped, "|")
	}
	switch {
	case s == "":
		return `\e`
	case len(s) > maxKey:
		sum := sha256.Sum256([]byte(s))
		return `\h` + hex.EncodeToString(sum[:])
	}
	return s
}
