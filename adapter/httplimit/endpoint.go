package httplimit

import (
	"net/http"
	"strings"

	"github.com/tickgate/tickgate/policy"
)

// EndpointFunc names what a request asks for: the endpoint of the gate's policies. The
// names must be few, since each is a key of its own for each caller: never the path.
// The empty name is answered with 500.
type EndpointFunc func(r *http.Request) string

// PatternEndpoint is the method and the pattern under which an [http.ServeMux] found
// the handler: "GET /memory/query". It holds where the middleware is around single
// handlers, inside the mux. Outside there is no pattern yet, and the name is empty;
// use [MuxEndpoint] there.
//
// A pattern that names a method, or a host, is taken as it was registered: HEAD on
// "GET /x" is "GET /x". Methods that HTTP does not define share the name "OTHER".
func PatternEndpoint(r *http.Request) string { return endpointOf(r.Method, r.Pattern) }

// MuxEndpoint is [PatternEndpoint] for a middleware around a whole mux: it asks mux
// for the pattern, which costs a second look-up. What the mux has no handler for goes
// by the name of policy.DefaultEndpoint, and so does CONNECT, for which a mux may
// name a path in place of a pattern.
func MuxEndpoint(mux *http.ServeMux) EndpointFunc {
	return func(r *http.Request) string {
		if r.Method == http.MethodConnect {
			return policy.DefaultEndpoint
		}
		_, pattern := mux.Handler(r)
		if pattern == "" {
			return policy.DefaultEndpoint
		}
		return endpointOf(r.Method, pattern)
	}
}

func endpointOf(method, pattern string) string {
	switch {
	case pattern == "":
		return ""
	case strings.IndexByte(pattern, ' ') > 0 || strings.IndexByte(pattern, '\t') > 0:
		return pattern // begins with a method: a path follows, in which a blank cannot come first
	}
	return methodName(method) + " " + pattern
}

// methodName bounds the methods: a client can make up any number.
func methodName(method string) string {
	switch method {
	case "", http.MethodGet: // an empty method is a GET
		return http.MethodGet
	case http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "OTHER"
}
