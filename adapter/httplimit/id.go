package httplimit

import (
	"encoding/hex"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/tickgate/tickgate/idem"
)

// The key that a client chose and the hash of a body are kept apart, so that nobody
// can choose a key that is another request's hash.
const (
	chosenID = "id:"
	hashedID = "sha256:"
)

// headerID reads the header Idempotency-Key, which may be a quoted string, as the
// draft of its standard has it, or bare. It is "" if there is none.
func headerID(h http.Header) (string, error) {
	values := h[headerKey]
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", ErrIDInvalid
	}
	v := strings.Trim(values[0], " \t")
	if strings.HasPrefix(v, `"`) {
		return unquoted(v)
	}
	// A comma or a semicolon would be two keys, or a parameter, to another reader.
	for i := 0; i < len(v); i++ {
		if c := v[i]; c <= ' ' || c > '~' || c == '"' || c == ',' || c == ';' || c == '\\' {
			return "", ErrIDInvalid
		}
	}
	if v == "" || len(v) > maxKey {
		return "", ErrIDInvalid
	}
	return v, nil
}

// unquoted reads a String of RFC 9651 that stands alone.
func unquoted(v string) (string, error) {
	if len(v) > 2+2*maxKey {
		return "", ErrIDInvalid
	}
	var b strings.Builder
	for i := 1; i < len(v); i++ {
		c := v[i]
		switch {
		case c == '"':
			if i != len(v)-1 || b.Len() == 0 || b.Len() > maxKey {
				return "", ErrIDInvalid
			}
			return b.String(), nil
		case c == '\\':
			i++
			if i == len(v) || v[i] != '"' && v[i] != '\\' {
				return "", ErrIDInvalid
			}
			c = v[i]
		case c < ' ' || c > '~':
			return "", ErrIDInvalid
		}
		b.WriteByte(c)
	}
	return "", ErrIDInvalid // not closed
}

// bodyID checks a key that was read from a body. A replacement character stands for
// what was no character, so that two different keys could look the same.
func bodyID(id string) error {
	if !goodKey(id) || strings.ContainsRune(id, utf8.RuneError) {
		return ErrIDInvalid
	}
	return nil
}

// contentID is the key of a request that has none: the SHA-256 of all that it says.
func contentID(f idem.Fingerprint) string { return hashedID + hex.EncodeToString(f[:]) }
