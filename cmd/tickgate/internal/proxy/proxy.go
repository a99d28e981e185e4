// Package proxy hands requests on to an upstream server, and its answers back: whole or
// as they come, trailers and upgraded connections included.
package proxy

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tickgate/tickgate/adapter/httplimit"
)

// Config says what a proxy is made of.
type Config struct {
	// Upstream is the scheme, the host, and the path that requests' paths are put
	// behind; as [ParseUpstream] returns it. Requests are sent with its host.
	Upstream *url.URL

	// RootCAs are those that sign an upstream's certificate. nil: the system's.
	RootCAs *x509.CertPool

	// Timeout is how long the upstream may take to answer: for the connection, for
	// each part of the request, and from the last part to the answer's header. Its
	// body may take any time. Above zero.
	Timeout time.Duration

	// MaxBody is the longest body of a request, in bytes; a longer one is answered
	// with 413. Above zero.
	MaxBody int64

	// TrustForwarded keeps what clients say of whom they ask for, and of other addresses
	// and methods, as other proxies do. Without it only X-Forwarded-For, -Host and -Proto
	// of this proxy go upstream.
	TrustForwarded bool

	// Upgrades are the protocols that a connection may be upgraded to, such as
	// "websocket". What is sent over one then is counted by nobody. An upgrade to
	// another one is not asked for upstream.
	Upgrades []string

	// Drop reports whether a header of the upstream's answers is dropped. nil: none is.
	Drop func(name string) bool

	// Fail answers what the upstream does not.
	Fail httplimit.ErrorHandler

	// Log is told when an answer breaks off.
	Log *slog.Logger
}

// Proxy is an http.Handler. Make one with [New].
type Proxy struct {
	cfg  Config
	back httputil.ReverseProxy
}

// New makes a proxy.
func New(cfg Config) *Proxy {
	p := &Proxy{cfg: cfg}
	p.back = httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      transport(&cfg),
		ModifyResponse: p.answered,
		ErrorHandler:   p.fault,
		BufferPool:     &buffers{},
		ErrorLog:       slog.NewLogLogger(cfg.Log.Handler(), slog.LevelWarn),
	}
	return p
}

// passage is one request on its way. It is found by the context of the request sent.
type passage struct {
	body     *body // nil if there is none
	watch    *watch
	response *response
}

type passageKey struct{}

func passageOf(r *http.Request) *passage {
	p, _ := r.Context().Value(passageKey{}).(*passage)
	return p
}

// errSlow is why a request is cancelled that the upstream takes too long for.
var errSlow = errors.New("proxy: the upstream did not answer in time")

// ServeHTTP hands a request on.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect, !plainUpgrade(r.Header):
		p.cfg.Fail(w, r, &httplimit.Error{
			Status: http.StatusBadRequest, Code: "request_invalid", Err: errRequest,
			Detail: "The method CONNECT, and a protocol to upgrade to that is no plain text, are not taken here.",
		})
		return
	case r.ContentLength > p.cfg.MaxBody:
		p.tooLarge(w, r)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	pass := &passage{
		watch:    newWatch(p.cfg.Timeout, func() { cancel(errSlow) }),
		response: &response{ResponseWriter: w, before: w.Header().Clone()},
	}
	defer pass.watch.end()
	out := r.WithContext(context.WithValue(ctx, passageKey{}, pass))
	if !p.mayUpgrade(r.Header) {
		out.Header = r.Header.Clone()
		out.Header.Del("Upgrade")
		out.Header.Del("Http2-Settings") // of the protocol h2c
	}
	if r.Body != nil && r.Body != http.NoBody {
		pass.body = &body{from: r.Body, left: p.cfg.MaxBody, watch: pass.watch}
		out.Body = pass.body
	}
	p.back.ServeHTTP(pass.response, out)
}

// answered ends the wait for an answer when its header has come, and drops what the
// client is told by others.
func (p *Proxy) answered(res *http.Response) error {
	passageOf(res.Request).watch.end()
	if p.cfg.Drop != nil {
		for name := range res.Header {
			if p.cfg.Drop(name) {
				delete(res.Header, name)
			}
		}
	}
	return nil
}

// mayUpgrade reports whether all protocols that a request asks for, if any, are among
// those that are let through.
func (p *Proxy) mayUpgrade(h http.Header) bool {
	for _, list := range h["Upgrade"] {
		for name := range strings.SplitSeq(list, ",") {
			name = strings.Trim(name, " \t")
			if !slices.ContainsFunc(p.cfg.Upgrades, func(one string) bool { return strings.EqualFold(one, name) }) {
				return false
			}
		}
	}
	return true
}

// plainUpgrade reports whether the protocol that a request asks for, if any, is one
// that can be told to an upstream.
func plainUpgrade(h http.Header) bool {
	for _, v := range h["Upgrade"] {
		for i := 0; i < len(v); i++ {
			if v[i] < ' ' || v[i] > '~' {
				return false
			}
		}
	}
	return true
}
