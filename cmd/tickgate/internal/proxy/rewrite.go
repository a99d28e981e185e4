package proxy

import (
	"net/http"
	"net/http/httputil"
	"strings"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/fieldname"
)

// rewrite turns the request of a client into the one for the upstream.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.cfg.Upstream)
	// Trailers have not come yet when the header goes out, so what is in them cannot be
	// looked at; and there are servers that take a field in a trailer for one in a header.
	r.Out.Trailer = nil
	for name := range r.Out.Header {
		if forwarding(name) {
			delete(r.Out.Header, name)
		}
	}
	if !p.cfg.TrustForwarded {
		r.SetXForwarded()
	} else {
		p.forward(r)
	}
	sendOnce(r.Out.Header)
}

// forward keeps what other proxies said, and adds this one's client to the list.
func (p *Proxy) forward(r *httputil.ProxyRequest) {
	r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
	r.SetXForwarded()
	for name, values := range r.In.Header {
		if name != "X-Forwarded-For" && forwarding(name) {
			r.Out.Header[name] = values
		}
	}
}

// told are the headers by which a proxy tells its upstream whom a request is made for, at
// which address, and with which method, where that is not what the request itself says.
// From a client they are a way past limits, which go by what the request says.
var told = [...]string{
	"Forwarded", "X-Real-IP", "X-Client-IP", "True-Client-IP", "X-Cluster-Client-IP", "X-Host",
	"X-Override-URL", "X-HTTP-Method", "X-HTTP-Method-Override", "X-Method-Override",
}

// toldBy are what the names of such headers begin with: X-Forwarded-For and many more,
// X-Original-URL, X-Rewrite-URL.
var toldBy = [...]string{"X-Forwarded", "X-Original-", "X-Rewrite-"}

// forwarding reports whether a header is one of those, under whatever name a server takes
// for it.
func forwarding(name string) bool {
	for _, prefix := range toldBy {
		if fieldname.HasPrefix(name, prefix) {
			return true
		}
	}
	for _, other := range told {
		if fieldname.Same(name, other) {
			return true
		}
	}
	return false
}

// sendOnce keeps the transport from sending a request again. It would, on a connection
// that breaks while an answer is awaited, if the request has an idempotency key and no
// body: as if the upstream knew what such a key means. It looks for the header's name
// in one spelling; all spellings are the same to an upstream.
func sendOnce(h http.Header) {
	for _, name := range [...]string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = values
		}
	}
}
