package admin

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/tickgate/tickgate/adapter/httplimit"
)

// errForeign is what requests wrap that this port does not answer.
var errForeign = errors.New("admin: the request is not from here")

// guard keeps other sites away. A browser of an operator reaches this port, and so do
// the pages that it shows: one can ask across sites, and one whose name is resolved
// again, to this machine, is even told the answer.
type guard struct {
	hosts map[string]bool
	cross *http.CrossOriginProtection
}

func newGuard(hosts []string) (*guard, error) {
	g := &guard{hosts: map[string]bool{}, cross: http.NewCrossOriginProtection()}
	var faults []error
	for _, h := range hosts {
		if h == "" || strings.ContainsAny(h, "/@ ") || hostOf(h) != strings.ToLower(h) {
			faults = append(faults, fmt.Errorf("allowed host %q: must be a name or an address, without a port", h))
		}
		g.hosts[hostOf(h)] = true
	}
	return g, errors.Join(faults...)
}

// headers are those of every answer. Pages have a Content-Security-Policy of their own.
var headers = map[string]string{
	"Cache-Control":                "no-store",
	"Content-Security-Policy":      "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", // pprof's index has a style
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// wrap returns a handler that hands on what is from here.
func (g *guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		switch {
		case !g.here(r):
			refuse(w, r, "host_not_allowed", "This port is not asked under that name: use localhost or the address, or allow the name.")
		case !g.own(r):
			refuse(w, r, "cross_site", "The request comes from another site.")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter, r *http.Request, code, detail string) {
	httplimit.WriteError(w, r, &httplimit.Error{Status: http.StatusForbidden, Code: code, Detail: detail, Err: errForeign})
}

// here reports whether the request names this port by a name that no other site can
// have: of loopback, an allowed one, or the address the connection was made to.
func (g *guard) here(r *http.Request) bool {
	host := hostOf(r.Host)
	if host == "localhost" || g.hosts[host] {
		return true
	}
	named, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if named.Unmap().IsLoopback() {
		return true
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil {
		return false
	}
	to, err := netip.ParseAddrPort(local.String())
	return err == nil && to.Addr().Unmap().WithZone("") == named.Unmap().WithZone("")
}

// hostOf returns a host without its port and brackets, in lower case.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// own reports whether a request is not another site's. Browsers say where one comes
// from; what says nothing is no browser. A link to the page from elsewhere is fine.
func (g *guard) own(r *http.Request) bool {
	if g.cross.Check(r) != nil { // what changes something
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return true
	}
	return r.Method == http.MethodGet && (r.URL.Path == pagePath || r.URL.Path == "/") &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}
