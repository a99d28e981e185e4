package httplimit

import "net/http"

// KeyFunc names who makes a request: the caller that was authenticated, usually from
// the request's context. ok is false, or the key empty, if nobody is named. A key has
// at most 256 bytes and no control characters; any other is answered with 400.
//
// It is called for each request, at most once by each middleware.
type KeyFunc func(r *http.Request) (key string, ok bool)

// maxKey is the longest key, scope or idempotency key, in bytes: what a gate holds.
const maxKey = 256

// caller returns who makes a request, or why it cannot be told.
func (f KeyFunc) caller(r *http.Request) (string, error) {
	key, ok := f(r)
	switch {
	case !ok || key == "":
		return "", ErrKeyMissing
	case !goodKey(key):
		return "", ErrKeyInvalid
	}
	return key, nil
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
