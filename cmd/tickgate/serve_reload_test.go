package main

import (
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// replace puts another content in the place of a file, as editors and deployments do.
func replace(t *testing.T, path, text string) {
	t.Helper()
	next := path + ".next"
	require.NoError(t, os.WriteFile(next, []byte(text), 0o600))
	require.NoError(t, os.Rename(next, path))
}

func soon(t *testing.T, what string, happens func() bool) {
	t.Helper()
	require.Eventually(t, happens, 10*time.Second, 10*time.Millisecond, what)
}

// source returns what the operators' page says of a source.
func (s *served) source(t *testing.T, name string) (fault, version string, refused uint64) {
	t.Helper()
	for _, one := range s.page(t).Sources {
		if one.Name == name {
			return one.LastError, one.Version, one.Refused
		}
	}
	require.Fail(t, "no source", name)
	return "", "", 0
}

// TestServeFollowsAFile: a change is in force without a signal; what is no good leaves
// what was, and is shown by the log, the metrics and the page.
func TestServeFollowsAFile(t *testing.T) {
	file := write(t, "p.yaml", "- {endpoint: orders, limits: [1/h]}\n- {endpoint: pinned, limits: [1/h]}\n")
	s := serve(t, nil, "--policies", file, "--set", "pinned=2/h")
	limit := func(endpoint, text string) func() bool {
		return func() bool {
			res := s.ask(t, "", "POST", "/v1/take", `{"apikey":"k","endpoint":"`+endpoint+`","n":0}`, "Content-Type", "application/json")
			return strings.Contains(res.text, `"limit":"`+text+`"`)
		}
	}
	require.True(t, limit("orders", "1/h")())
	require.True(t, limit("pinned", "2/h")(), "the command line is over the file")
	require.Contains(t, s.take(t, "", "k", "nowhere").text, "no policy", "a file takes the defaults' place")

	replace(t, file, "- {endpoint: orders, limits: [5/h]}\n- {endpoint: pinned, limits: [5/h]}\n")
	soon(t, "the file is read", limit("orders", "5/h"))
	require.True(t, limit("pinned", "2/h")())
	require.Contains(t, s.page(t).Changes[0].Who, "file@")

	replace(t, file, "- {endpoint: orders, limits: [wrong]}\n")
	s.hangup <- struct{}{}
	soon(t, "it is refused", func() bool {
		return s.metric(t, `tickgate_config_reloads_total{result="refused",source="file"}`) != "0"
	})
	fault, _, _ := s.source(t, "file")
	require.Contains(t, fault, "line 1")
	require.True(t, limit("orders", "5/h")())
	require.Contains(t, s.String(), "no new policies, the last good ones stay")
	replace(t, file, "- {endpoint: orders, limits: [6/h]}\n")
	s.hangup <- struct{}{}
	soon(t, "it is good again", limit("orders", "6/h"))
	fault, _, _ = s.source(t, "file")
	require.Empty(t, fault)
}

func noContent(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

// TestServeFollowsPatterns: before an upstream a new endpoint is a new route, and what
// is no pattern is refused.
func TestServeFollowsPatterns(t *testing.T) {
	file := write(t, "p.yaml", "- {endpoint: default, limits: [unlimited]}\n")
	s := serve(t, nil, "--policies", file, "--upstream", upstream(t, noContent))
	get := func() int { return s.send(t, "GET", "/orders", "", "X-API-Key", "k").StatusCode }
	require.Equal(t, 204, get())
	replace(t, file, "- {endpoint: default, limits: [unlimited]}\n- {endpoint: GET /orders, limits: [deny]}\n")
	soon(t, "the new route", func() bool { return get() == 429 })
	for name, bad := range map[string]string{
		"no pattern":    "- {endpoint: default, limits: [unlimited]}\n- {endpoint: order.new, limits: [deny]}\n",
		"no default":    "- {endpoint: GET /orders, limits: [unlimited]}\n",
		"two that meet": "- {endpoint: default, limits: [unlimited]}\n- {endpoint: 'GET /{a}', limits: [1/s]}\n- {endpoint: 'GET /{b}', limits: [1/s]}\n",
	} {
		_, _, before := s.source(t, "in force")
		replace(t, file, bad)
		s.hangup <- struct{}{}
		soon(t, name, func() bool { _, _, refused := s.source(t, "in force"); return refused > before })
		fault, _, _ := s.source(t, "in force")
		require.Contains(t, fault, "refused", name)
		require.Equal(t, 429, get(), name)
	}
}

// TestServeReadsKeysAgain: at a signal, and a bad file leaves those of before.
func TestServeReadsKeysAgain(t *testing.T) {
	keys := write(t, "keys.txt", "alice-s3cret\n")
	s := serve(t, nil, "--upstream", upstream(t, noContent), "--keys", keys)
	get := func(key string) int { return s.send(t, "GET", "/", "", "X-API-Key", key).StatusCode }
	require.Equal(t, []int{204, 401}, []int{get("alice-s3cret"), get("bob-s3cret")})
	replace(t, keys, "bob-s3cret\ncarol-s3cret\n")
	require.Equal(t, []int{204, 401}, []int{get("alice-s3cret"), get("bob-s3cret")}, "not before the signal")
	s.hangup <- struct{}{}
	soon(t, "the new keys", func() bool { return get("bob-s3cret") == 204 })
	require.Equal(t, 401, get("alice-s3cret"))
	_, version, _ := s.source(t, "keys")
	require.Equal(t, "2 keys", version)
	replace(t, keys, "# nobody\n")
	s.hangup <- struct{}{}
	soon(t, "the fault", func() bool { fault, _, _ := s.source(t, "keys"); return strings.Contains(fault, "holds no key") })
	require.Equal(t, 204, get("bob-s3cret"))
	require.Equal(t, "1", s.metric(t, `tickgate_config_reloads_total{result="refused",source="keys"}`))
}

// TestServeReadsCertificateAgain: handshakes after the signal have the new one.
func TestServeReadsCertificateAgain(t *testing.T) {
	old, fresh := newAuthority(t, "old"), newAuthority(t, "new")
	cert, key := old.issue(t, "server")
	own := t.TempDir()
	certFile, keyFile := filepath.Join(own, "cert.pem"), filepath.Join(own, "key.pem")
	put := func(from, to string) {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		replace(t, to, string(text))
	}
	put(cert, certFile)
	put(key, keyFile)
	s := serve(t, nil, "--tls-cert", certFile, "--tls-key", keyFile)
	trusted := func(a *authority) bool {
		conn, err := tls.Dial("tcp", s.address, a.trust(t, "", ""))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
	require.True(t, trusted(old))
	require.False(t, trusted(fresh))
	nextCert, nextKey := fresh.issue(t, "server")
	put(nextCert, certFile)
	s.hangup <- struct{}{}
	soon(t, "a key that does not match", func() bool {
		fault, _, _ := s.source(t, "certificate")
		return strings.Contains(fault, "does not match")
	})
	require.True(t, trusted(old))
	put(nextKey, keyFile)
	s.hangup <- struct{}{}
	soon(t, "the new certificate", func() bool { return trusted(fresh) })
	require.False(t, trusted(old))
}
