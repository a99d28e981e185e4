package caller

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"

	"github.com/tickgate/tickgate/adapter/httplimit"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/visit"
)

// ErrRefused is what answers to callers that cannot be told, or are not let in, wrap.
var ErrRefused = errors.New("caller: the request does not name one caller that is let in")

// Identify notes in the visit of each request who makes it, and hands it on to next. It
// stands for callers by the SHA-256 of their keys, in hex, so that nothing behind it
// can show a key. What names nobody is handed on as well; what names somebody, but not
// so that all readers would find the same, or who is not among accepted, is answered
// with 400 or 401 through fail. A nil accepted takes any key as it is.
//
// The fields that are named beside the sources, by canonical names, are read by
// handlers behind: they must not come under another name either.
func Identify(sources []Source, fields []string, accepted *Keys, fail httplimit.ErrorHandler, next http.Handler) http.Handler {
	names := slices.Clone(fields)
	for _, s := range sources {
		names = append(names, s.header)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, v := read(sources, r.Header)
		if aliased(r.Header, names) {
			v = ambiguous
		}
		if v == named {
			hash := sha256.Sum256([]byte(key))
			if accepted.has(hash) {
				visit.Of(r).Caller = hex.EncodeToString(hash[:]) // as Name has it
			} else {
				v = unreadable
			}
		}
		if e := refusal(v); e != nil {
			fail(w, r, e)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refusal is the answer to a request that does not name one caller, nil if it may go on.
func refusal(v verdict) *httplimit.Error {
	e := &httplimit.Error{Err: ErrRefused}
	switch v {
	case unreadable:
		e.Status, e.Code, e.Detail = http.StatusUnauthorized, "caller_unknown",
			"The request does not carry a key that is known here."
	case ambiguous:
		e.Status, e.Code, e.Detail = http.StatusBadRequest, "caller_ambiguous",
			"The request carries more than one key, or what another server may take for one."
	case malformed:
		e.Status, e.Code, e.Detail = http.StatusBadRequest, "caller_invalid",
			"A key must have at most 8192 bytes, all of printable ASCII."
	default:
		return nil
	}
	return e
}

// Of is the [httplimit.KeyFunc] of requests inside [Identify].
func Of(r *http.Request) (key string, err error) { return visit.Of(r).Caller, nil }

// Name returns what stands for the caller with a key: its SHA-256, in hex; "" for "".
func Name(key string) string {
	if key == "" {
		return ""
	}
	hash := sha256.Sum256([]byte(key))
	return hex.EncodeToString(hash[:])
}
