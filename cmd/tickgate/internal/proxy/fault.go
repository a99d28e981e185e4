package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/tickgate/tickgate/adapter/httplimit"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/visit"
)

// What the errors of answers wrap.
var (
	errRequest  = errors.New("proxy: the request cannot be handed on")
	errBody     = errors.New("proxy: the body of the request did not come")
	errUpstream = errors.New("proxy: the upstream did not answer")
)

// fault answers a request that the upstream did not: 504 if it was too slow, 502 if it
// failed otherwise, and 4xx if the client is to blame. To a client that is gone it says
// nothing, and nor does the log.
func (p *Proxy) fault(w http.ResponseWriter, r *http.Request, err error) {
	pass := passageOf(r)
	pass.watch.end()
	if pass.response.hijacked {
		return // the connection broke after all
	}
	var inBody error
	if pass.body != nil {
		inBody = pass.body.fault()
	}
	slow := context.Cause(r.Context()) == errSlow
	// A server takes a client for gone as well when the time for its body is over; that
	// one is there, and waits.
	if r.Context().Err() != nil && !slow && !errors.Is(inBody, os.ErrDeadlineExceeded) {
		panic(http.ErrAbortHandler) // ends the request and the connection, silently
	}
	var timeout net.Error
	e := &httplimit.Error{Err: errUpstream}
	switch {
	case errors.Is(inBody, errTooLarge):
		p.tooLarge(w, r)
		return
	case inBody != nil:
		e.Status, e.Code, e.Err = http.StatusBadRequest, "body_incomplete", errBody
		e.Detail = "The body of the request ended too early."
		if errors.Is(inBody, os.ErrDeadlineExceeded) {
			e.Status, e.Code = http.StatusRequestTimeout, "body_slow"
			e.Detail = "The body of the request took too long to come."
		}
		w.Header().Set("Connection", "close")
	case slow, errors.As(err, &timeout) && timeout.Timeout():
		e.Status, e.Code = http.StatusGatewayTimeout, "upstream_slow"
		e.Detail = "The service behind did not answer in time."
		visit.Of(r).Cause = "no answer within " + p.cfg.Timeout.String()
	default:
		e.Status, e.Code = http.StatusBadGateway, "upstream_failed"
		e.Detail = "The service behind could not be asked."
		visit.Of(r).Cause = cause(err)
	}
	p.cfg.Fail(w, r, e)
}

// tooLarge answers a request whose body is too long. What has not come of it is not
// waited for: the connection ends.
func (p *Proxy) tooLarge(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close")
	p.cfg.Fail(w, r, &httplimit.Error{
		Status: http.StatusRequestEntityTooLarge, Code: "body_too_large", Err: errTooLarge,
		Detail: "The body of the request is too large.",
	})
}

// cause says for the log why an upstream failed. An error of the network or of TLS is
// told as it is. Of any other only that: it may repeat what the upstream sent, and that
// what a client did.
func cause(err error) string {
	var network *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &network):
		return network.Error()
	case errors.As(err, &certificate):
		return certificate.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the upstream closed the connection"
	}
	return "the upstream's answer is no HTTP, or not what was asked for"
}
