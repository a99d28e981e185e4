package proxy

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/certs"
)

// ParseUpstream reads the address of an upstream: http or https, a host, and maybe a
// port and a path. An error does not repeat what may be a password.
func ParseUpstream(text string) (*url.URL, error) {
	const form = "; write it as http://HOST:PORT or https://HOST/PATH"
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("is no URL" + form)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("must begin with http:// or https://" + form)
	case u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("has no host" + form)
	case u.User != nil:
		return nil, errors.New("must not hold a user or a password" + form)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("must not have a query or a fragment" + form)
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, errors.New("has no port of 1 to 65535 behind the colon" + form)
		}
	}
	return u, nil
}

// Bounds on connections to the upstream, whose number its clients make.
const (
	idleConnections = 256
	idleTime        = 90 * time.Second
	keepAlive       = 30 * time.Second
	maxHeader       = 1 << 20 // of an answer, in bytes
)

// transport sends requests as they are: not through a proxy of the environment, and
// with no coding of the body that the client did not ask for.
func transport(cfg *Config) *http.Transport {
	dialer := &net.Dialer{Timeout: cfg.Timeout, KeepAlive: keepAlive}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: certs.Oldest, RootCAs: cfg.RootCAs},
		TLSHandshakeTimeout:    cfg.Timeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConns:           idleConnections,
		MaxIdleConnsPerHost:    idleConnections,
		IdleConnTimeout:        idleTime,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHeader,
	}
}
