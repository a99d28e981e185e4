package proxy

import (
	"net/http"
	"net/http/httputil"
	"strings"
)

// rewrite turns the request of a client into the one for the upstream.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.cfg.Upstream)
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

// forwarding reports whether a header tells whom a request is made for. Some servers
// take an underscore for a hyphen.
func forwarding(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	return name == "forwarded" || name == "x-real-ip" || strings.HasPrefix(name, "x-forwarded")
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
