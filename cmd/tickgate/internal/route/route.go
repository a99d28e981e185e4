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
	names map[string]string // of policies, by their patterns as the mux has them
}

// New makes a table of a set whose endpoints are patterns of an [http.ServeMux], as
// "POST /orders/{id}", "GET /files/", "/v1/" or "api.example.com/". One must be
// policy.DefaultEndpoint, for what no pattern matches. Every fault is reported.
func New(set policy.Set) (*Table, error) {
	mux := http.NewServeMux()
	t := &Table{find: httplimit.MuxEndpoint(mux), names: make(map[string]string, len(set))}
	var faults []error
	var before []policyPattern
	hasDefault := false
	for _, p := range set {
		if p.Endpoint == policy.DefaultEndpoint {
			hasDefault = true
			continue
		}
		if hasPort(p.Endpoint) {
			faults = append(faults, fmt.Errorf("policy %q: no pattern of requests (a host goes without a port)", p.Endpoint))
			continue
		}
		this := policyPattern{p.Endpoint, foldPattern(p.Endpoint)}
		if err := add(mux, this, before); err != nil {
			faults = append(faults, fmt.Errorf("policy %q: %w", p.Endpoint, err))
			continue
		}
		before = append(before, this)
		t.names[this.pattern] = p.Endpoint
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
// than there are policies, whatever comes. A host is known by its name alone: in any
// case, with or without the dot that ends a full name, and whatever the port.
func (t *Table) Policy(r *http.Request) string {
	if host := foldHost(r.Host); host != r.Host {
		folded := *r
		folded.Host = host
		r = &folded
	}
	name := t.find(r)
	if policy, ok := t.names[name]; ok {
		return policy
	}
	// A pattern without a method is found with the request's in front.
	if _, pattern, ok := strings.Cut(name, " "); ok {
		if policy, ok := t.names[pattern]; ok {
			return policy
		}
	}
	return policy.DefaultEndpoint
}

// policyPattern is a policy's name, and the pattern of the mux for it.
type policyPattern struct{ name, pattern string }

// add registers a pattern. The mux panics for what it cannot take, with a text for the
// programmer; the errors are for whoever wrote the policies.
func add(mux *http.ServeMux, this policyPattern, before []policyPattern) error {
	err := register(mux, this.pattern)
	if err == nil {
		return nil
	}
	for _, other := range before {
		both := http.NewServeMux()
		if register(both, other.pattern) == nil && register(both, this.pattern) != nil {
			return fmt.Errorf("matches requests that %q matches too, and neither is the more specific one; change or drop one", other.name)
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
