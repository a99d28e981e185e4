package httplimit

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tickgate/tickgate/idem"
)

// identity is what a request is known by.
type identity struct {
	key         idem.Key
	fingerprint idem.Fingerprint
	request     *http.Request // to hand on, with its whole body
	guarded     bool          // false: the request is to be handed on as it is
}

// identify reads what a request is known by. It reads its body, unless the request
// will be handed on without protection whatever is in it.
func (m *Idempotency) identify(w http.ResponseWriter, r *http.Request) (identity, error) {
	c := &m.cfg
	id := identity{request: r}
	if !slices.Contains(c.Methods, r.Method) {
		return id, nil
	}
	given, err := headerID(r.Header)
	if err != nil {
		return id, err
	}
	if given == "" && c.Field == "" {
		if c.Missing == PassThrough {
			return id, nil
		}
		if c.Missing == RequireID {
			return id, ErrIDMissing
		}
	}
	scope, err := c.Scope.caller(r)
	if err != nil {
		return id, err
	}
	endpoint := c.Endpoint(r)
	if endpoint == "" {
		return id, ErrNoEndpoint
	}
	if c.Field != "" && coded(r.Header) {
		return id, ErrBodyInvalid
	}
	body, err := readBody(w, r, c.MaxBody)
	if err != nil {
		return id, err
	}
	if body != nil {
		id.request = withBody(r, body)
	}
	if c.Field != "" {
		inBody, err := fieldID(body, c.Field)
		if err != nil {
			return id, err
		}
		if inBody != "" {
			given = inBody
		}
	}
	// The path that was asked for, not the pattern: a key that is used for another
	// resource is a mistake, and must not be answered with the first one's result.
	id.fingerprint = idem.FingerprintOf(r.Method, r.URL.EscapedPath(), r.URL.RawQuery, body)
	switch {
	case given != "":
		given = chosenID + given
	case c.Missing == HashContent:
		given = contentID(id.fingerprint)
	case c.Missing == RequireID:
		return id, ErrIDMissing
	default:
		return id, nil
	}
	id.key, id.guarded = idem.KeyOf(scope, endpoint, given), true
	return id, nil
}

// coded reports whether a body is in a content coding, such as gzip.
func coded(h http.Header) bool {
	for _, v := range h["Content-Encoding"] {
		if v = strings.Trim(v, " \t"); v != "" && !strings.EqualFold(v, "identity") {
			return true
		}
	}
	return false
}
