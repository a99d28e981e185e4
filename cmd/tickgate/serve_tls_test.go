package main

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// get asks for a path over TLS.
func (s *served) get(config *tls.Config) (*http.Response, error) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
	r, err := http.NewRequest("GET", "https://"+s.address+"/memory/skills", nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer s3cret")
	res, err := client.Do(r)
	if err == nil {
		_ = res.Body.Close()
	}
	return res, err
}

func TestServeTLS(t *testing.T) {
	ca := newAuthority(t, "authority")
	cert, key := ca.issue(t, "server")
	forms := map[string][]string{
		"example": {"--example", "memory"},
		"upstream": {"--upstream", upstream(t, func(_ http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Forwarded-Proto") != "https" {
				t.Error("the upstream is not told of TLS")
			}
		})},
	}
	for name, args := range forms {
		s := serve(t, nil, append(args, "--tls-cert", cert, "--tls-key", key)...)
		res, err := s.get(ca.trust(t, "", ""))
		require.NoError(t, err, name)
		require.Equal(t, 200, res.StatusCode)
		require.Equal(t, "HTTP/2.0", res.Proto)

		old := ca.trust(t, "", "")
		old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		_, err = s.get(old)
		require.ErrorContains(t, err, "protocol version")
		_, err = s.get(newAuthority(t, "other").trust(t, "", ""))
		require.ErrorContains(t, err, "unknown authority")
		require.NotContains(t, s.String(), "level=WARN", "scanners are no news")
	}
}

// TestServeOutdatedCertificate: it is served, and the log says what clients will.
func TestServeOutdatedCertificate(t *testing.T) {
	ca := newAuthority(t, "authority")
	for cause, shift := range map[string]time.Duration{"it expired on ": -2 * time.Hour, "it is not valid before ": 2 * time.Hour} {
		cert, key := ca.issueAt(t, "server", time.Now().Add(shift))
		s := serve(t, nil, "--example", "memory", "--tls-cert", cert, "--tls-key", key)
		require.Contains(t, s.String(), `level=WARN msg="clients will refuse the certificate of --tls-cert" cause="`+cause)
		_, err := s.get(ca.trust(t, "", ""))
		require.Error(t, err)
	}
	cert, key := ca.issue(t, "server")
	require.NotContains(t, serve(t, nil, "--example", "memory", "--tls-cert", cert, "--tls-key", key).String(), "level=WARN")
}

func TestServeMutualTLS(t *testing.T) {
	ca, clients := newAuthority(t, "authority"), newAuthority(t, "clients")
	cert, key := ca.issue(t, "server")
	s := serve(t, nil, "--example", "memory", "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", clients.file)
	good, goodKey := clients.issue(t, "client")
	res, err := s.get(ca.trust(t, good, goodKey))
	require.NoError(t, err)
	require.Equal(t, 200, res.StatusCode)
	_, err = s.get(ca.trust(t, "", "")) // it may be told why, or find the connection closed
	require.Error(t, err)
	bad, badKey := ca.issue(t, "stranger")
	_, err = s.get(ca.trust(t, bad, badKey))
	require.Error(t, err)
	s.stop()
	require.Equal(t, exitOK, <-s.status)
	require.Equal(t, 1, strings.Count(s.String(), "msg=request"))
}

// TestServeUpstreamOverTLS: with an authority of one's own, and not without.
func TestServeUpstreamOverTLS(t *testing.T) {
	ca := newAuthority(t, "authority")
	cert, key := ca.issue(t, "server")
	behind := serve(t, nil, "--example", "memory", "--tls-cert", cert, "--tls-key", key)
	s := serve(t, nil, "--upstream", "https://"+behind.address, "--upstream-ca", ca.file)
	res := s.send(t, "GET", "/memory/skills", "", "X-API-Key", "k")
	require.Equal(t, 200, res.StatusCode, res.text)
	require.Equal(t, []string{`"50/s";q=50;w=1`}, res.Header["Ratelimit-Policy"])
	require.Len(t, res.Header["Ratelimit"], 1)

	s = serve(t, nil, "--upstream", "https://"+behind.address)
	require.Equal(t, 502, s.send(t, "GET", "/memory/skills", "", "X-API-Key", "k").StatusCode)
}
