// Package route tells which policy answers for a request, where the names of policies
// are the patterns of a mux.
package route

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/policy"
)

// Table finds the policy of a request. It is not changed, and for any number of
// goroutines.
type Table struct {
	find  httplimit.EndpointFunc
	names map[string]bool
}

// New makes a table of a set whose endpoints are patterns of an [http.ServeMux], as
// "POST /orders/{id}", "GET /files/", "/v1/" or "api.example.com/". One must be
// policy.DefaultEndpoint, for what no pattern matches. Every fault is reported.
func New(set policy.Set) (*Table, error) {
	mux := http.NewServeMux()
	t := &Table{find: httplimit.MuxEndpoint(mux), names: make(map[string]bool, len(set))}
	var faults []error
	var before []string
	hasDefault := false
	for _, p := range set {
		if p.Endpoint == policy.DefaultEndpoint {
			hasDefault = true
			continue
		}
		if err := add(mux, p.Endpoint, before); err != nil {
			faults = append(faults, fmt.Errorf("policy %q: %w", p.Endpoint, err))
			continue
		}
		before = append(before, p.Endpoint)
		t.names[p.Endpoint] = true
	}
	if !hasDefault {
		faults = append(faults, errors.New(`no policy "default": requests that match no pattern would have none; add one, such as default=50/s, default=deny or default=unlimited`))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return t, nil
}

// Policy returns the name of the policy that answers for a request: never more names
// than there are policies, whatever comes.
func (t *Table) Policy(r *http.Request) string {
	name := t.find(r)
	if t.names[name] {
		return name
	}
	// A pattern without a method is found with the request's in front.
	if _, pattern, ok := strings.Cut(name, " "); ok && t.names[pattern] {
		return pattern
	}
	return policy.DefaultEndpoint
}

// add registers a pattern. The mux panics for what it cannot take, with a text for the
// programmer; the errors are for whoever wrote the policies.
func add(mux *http.ServeMux, pattern string, before []string) error {
	err := register(mux, pattern)
	if err == nil {
		return nil
	}
	for _, other := range before {
		both := http.NewServeMux()
		if register(both, other) == nil && register(both, pattern) != nil {
			return fmt.Errorf("matches requests that %q matches too, and neither is the more specific one; change or drop one", other)
		}
	}
	reason := err.Error()
	if inner := errors.Unwrap(err); inner != nil {
		reason = inner.Error()
	}
	return fmt.Errorf(`no pattern of requests (%s); write a path and before it, if it is for one, a method, as in "POST /orders/{id}", "GET /files/" or "/v1/"`, reason)
}

func register(mux *http.ServeMux, pattern string) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			var ok bool
			if err, ok = thrown.(error); !ok {
				err = fmt.Errorf("%v", thrown)
			}
		}
	}()
	mux.Handle(pattern, http.NotFoundHandler())
	return nil
}
