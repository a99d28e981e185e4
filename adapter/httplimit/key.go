package httplimit

import (
	"errors"
	"fmt"
	"net/http"
)

// KeyFunc names who makes a request: the caller that was authenticated, usually from
// the request's context. An empty key, or [ErrKeyMissing], says that nobody is named;
// what happens then is for [MissingKey]. A request that does name somebody, but not so
// that all readers would find the same, such as one with two keys, must not count as
// one that names nobody: return any other error for it, and it is answered with 400. An
// error that is an [*Error] is the answer as it is, such as a 503 when keys cannot be
// looked up. A key has at most 256 bytes and no control characters; any other is
// answered with 400.
//
// It is called for each request, at most once by each middleware.
type KeyFunc func(r *http.Request) (key string, err error)

// maxKey is the longest key, scope or idempotency key, in bytes: what a gate holds.
const maxKey = 256

// caller returns who makes a request, or why it cannot be told.
func (f KeyFunc) caller(r *http.Request) (string, error) {
	key, err := f(r)
	switch {
	case err != nil:
		return "", keyError(err)
	case key == "":
		return "", ErrKeyMissing
	case !goodKey(key):
		return "", ErrKeyInvalid
	}
	return key, nil
}

// keyError is what the error of a KeyFunc means: exactly ErrKeyMissing if nobody is named.
func keyError(err error) error {
	own := (*Error)(nil)
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, ErrKeyMissing):
		return ErrKeyMissing
	}
	return fmt.Errorf("%w: %w", ErrKeyInvalid, err)
}

// goodKey reports whether a key is short enough and visible: control characters are
// in no key that a program gives out, and break the lines of whoever prints one.
func goodKey(key string) bool {
	if key == "" || len(key) > maxKey {
		return false
	}
	for i := 0; i < len(key); i++ {
		if c := key[i]; c < ' ' || c == 0x7f {
			return false
		}
	}
	return true
}
