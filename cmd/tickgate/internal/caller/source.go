// Package caller tells who makes a request, by the key that it carries.
package caller

import (
	"fmt"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/fieldname"
)

// Source is where a key is read from. Make one with [ParseSource].
type Source struct {
	header string // canonical
	bearer bool   // the value is "Bearer KEY"
}

// Defaults are "Authorization: Bearer KEY" and "X-API-Key: KEY".
func Defaults() []Source {
	return []Source{{header: "Authorization", bearer: true}, {header: "X-Api-Key"}}
}

// ParseSource reads "bearer", for "Authorization: Bearer KEY", or "header:NAME", for
// "NAME: KEY".
func ParseSource(text string) (Source, error) {
	if text == "bearer" {
		return Defaults()[0], nil
	}
	name, ok := strings.CutPrefix(text, "header:")
	if !ok || !isToken(name) {
		return Source{}, fmt.Errorf("%q: must be bearer, or header: and the name of a header, as in header:X-API-Key", text)
	}
	s := Source{header: textproto.CanonicalMIMEHeaderKey(name)}
	for _, unfit := range ofAHop {
		if fieldname.Same(name, unfit) {
			return Source{}, fmt.Errorf("%q: that header is not handed on as it is, or tells no caller; take another one", text)
		}
	}
	return s, nil
}

// ofAHop are headers that are for this server alone, which the one behind does not get,
// and the one that tells one request of a caller from another.
var ofAHop = [...]string{
	"Connection", "Content-Length", "Host", "Idempotency-Key", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// isToken reports whether s can be the name of a header.
func isToken(s string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(marks, c) >= 0) {
			return false
		}
	}
	return s != ""
}

// verdict says what a request tells of its caller.
type verdict uint8

const (
	nobody     verdict = iota // none of the headers is there
	named                     // by a key
	unreadable                // a header is there, and no key in it
	ambiguous                 // a header is there twice, or two keys are
	malformed                 // the key is too long or not of printable ASCII
)

// maxKey is the longest key, in bytes: a token that carries claims takes some
// thousands.
const maxKey = 8 << 10

// read returns the key that a request carries. It is strict where another reader, such
// as the API behind, might find another key or find one at all: whoever gets such a
// request past this would have no limit, or as many as they like.
func read(sources []Source, h http.Header) (key string, v verdict) {
	for _, s := range sources {
		values := h[s.header]
		switch {
		case len(values) == 0:
			continue
		case len(values) > 1:
			return "", ambiguous
		}
		this := values[0]
		if s.bearer {
			scheme, token, _ := strings.Cut(this, " ")
			this = strings.Trim(token, " ")
			if !strings.EqualFold(scheme, "Bearer") || strings.ContainsAny(this, " \t") {
				return "", unreadable
			}
		}
		switch {
		case this == "":
			return "", unreadable
		case !visible(this):
			return "", malformed
		case strings.Contains(this, ","): // two, to a reader of lists
			return "", ambiguous
		case v == named && this != key:
			return "", ambiguous
		}
		key, v = this, named
	}
	return key, v
}

// visible reports whether a key is short enough, and of printable ASCII alone: readers
// differ in what blanks beyond that they cut off, and in what characters it is.
func visible(key string) bool {
	for i := 0; i < len(key); i++ {
		if c := key[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return len(key) <= maxKey
}
