package caller

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/httplimit"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/visit"
)

func TestRead(t *testing.T) {
	bearer, apikey := "Authorization", "X-Api-Key"
	for _, c := range []struct {
		name   string
		header http.Header
		key    string
		v      verdict
	}{
		{"none", nil, "", nobody},
		{"other headers", http.Header{"X-Other": {"k"}}, "", nobody},
		{"bearer", http.Header{bearer: {"Bearer k"}}, "k", named},
		{"case and blanks", http.Header{bearer: {"bearer   k "}}, "k", named},
		{"apikey", http.Header{apikey: {"k"}}, "k", named},
		{"both, the same", http.Header{bearer: {"Bearer k"}, apikey: {"k"}}, "k", named},
		{"both, not the same", http.Header{bearer: {"Bearer k"}, apikey: {"l"}}, "", ambiguous},
		{"bearer twice", http.Header{bearer: {"Bearer k", "Bearer k"}}, "", ambiguous},
		{"apikey twice", http.Header{apikey: {"k", "k"}}, "", ambiguous},
		{"other scheme", http.Header{bearer: {"Basic k"}}, "", unreadable},
		{"other scheme and apikey", http.Header{bearer: {"Basic k"}, apikey: {"k"}}, "", unreadable},
		{"no token", http.Header{bearer: {"Bearer"}}, "", unreadable},
		{"tab for a blank", http.Header{bearer: {"Bearer\tk"}}, "", unreadable},
		{"two words, of which another reader may take one", http.Header{bearer: {"Bearer k 1"}}, "", unreadable},
		{"two headers joined", http.Header{bearer: {"Bearer k,Bearer k"}}, "", unreadable},
		{"empty", http.Header{apikey: {""}}, "", unreadable},
		{"NUL", http.Header{apikey: {"a\x00b"}}, "", malformed},
		{"CRLF", http.Header{apikey: {"a\r\nb"}}, "", malformed},
		{"a token with claims", http.Header{bearer: {"Bearer " + strings.Repeat("k", maxKey)}}, strings.Repeat("k", maxKey), named},
		{"DEL", http.Header{apikey: {"a\x7fb"}}, "", malformed},
		{"a blank that other readers cut off", http.Header{apikey: {"k\xa0"}}, "", malformed},
		{"two, to a reader of lists", http.Header{apikey: {"k,1"}}, "", ambiguous},
		{"two, to a reader of lists of tokens", http.Header{bearer: {"Bearer k,1"}}, "", ambiguous},
		{"too long", http.Header{bearer: {"Bearer " + strings.Repeat("k", maxKey+1)}}, "", malformed},
	} {
		key, v := read(Defaults(), c.header)
		require.Equal(t, c.v, v, c.name)
		require.Equal(t, c.key, key, c.name)
	}
}

func TestParseSource(t *testing.T) {
	s, err := ParseSource("bearer")
	require.NoError(t, err)
	require.Equal(t, Source{"Authorization", true}, s)
	s, err = ParseSource("header:x-api-KEY")
	require.NoError(t, err)
	require.Equal(t, Source{"X-Api-Key", false}, s)
	for _, name := range []string{"connection", "TE", "Proxy-Authorization", "Host", "Idempotency_Key"} {
		_, err := ParseSource("header:" + name)
		require.ErrorContains(t, err, "take another one", name)
	}
	for _, bad := range []string{"", "Bearer", "header", "header:", "header:a b", "header:a:b", "header:ä", "cookie:x"} {
		_, err := ParseSource(bad)
		require.ErrorContains(t, err, "must be bearer, or header:", bad)
	}
}

func TestLoad(t *testing.T) {
	load := func(text string) (Accepted, error) {
		path := filepath.Join(t.TempDir(), "keys.txt")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return Load(path)
	}
	keys, err := load("# partners\nalpha\r\n\n  beta \nalpha\n#gamma\ndelta")
	require.NoError(t, err)
	require.Len(t, keys, 3)
	for _, k := range []string{"alpha", "beta", "delta"} {
		require.Contains(t, keys, sha256.Sum256([]byte(k)))
	}
	for text, want := range map[string]string{
		"":                                     "holds no key",
		"# nothing\n":                          "holds no key",
		"ok\nbad\x00secret\nba\x07d\n":         "line 2: a key must have at most",
		"a,b\n":                                "line 1: a key must have at most 8192 bytes, all of printable ASCII, and no comma",
		strings.Repeat("k", maxKey+1):          "line 1: a key must have at most 8192 bytes",
		"ok\n" + strings.Repeat("k", 3*maxKey): "line 2: a key must have at most 8192 bytes",
	} {
		_, err := load(text)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
		require.NotContains(t, err.Error(), "kkk")
	}
	_, err = load("bad\x00\nbad\x01\n")
	require.Equal(t, 1, strings.Count(err.Error(), "\n"), "both faults")
	_, err = Load(filepath.Join(t.TempDir(), "missing"))
	require.ErrorContains(t, err, "no such file")
}

func TestIdentify(t *testing.T) {
	let := NewKeys(Accepted{sha256.Sum256([]byte("good")): {}})
	for _, c := range []struct {
		accepted *Keys
		header   string
		status   int
		caller   string
	}{
		{nil, "anything", 200, "anything"},
		{nil, "", 200, ""}, // for the limiter to decide
		{let, "", 200, ""},
		{let, "good", 200, "good"},
		{let, "bad", 401, ""},
		{let, "go", 401, ""},
		{nil, "a\tb", 400, ""},
	} {
		var seen string
		h := visit.Log(slog.New(slog.DiscardHandler), time.Now, func(*http.Request) string { return "x" }, nil,
			Identify(Defaults(), nil, c.accepted, httplimit.WriteError, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				key, err := Of(r)
				require.NoError(t, err)
				seen = key
			})))
		r := httptest.NewRequest("GET", "/", nil)
		if c.header != "" {
			r.Header.Set("X-API-Key", c.header)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, c.status, w.Code, "%+v", c)
		want := ""
		if c.caller != "" {
			sum := sha256.Sum256([]byte(c.caller))
			want = hex.EncodeToString(sum[:])
		}
		require.Equal(t, want, seen)
		require.NotContains(t, w.Body.String(), "bad")
	}
}

// TestKeysAreExchanged: those of before are let in no more.
func TestKeysAreExchanged(t *testing.T) {
	keys := NewKeys(Accepted{sha256.Sum256([]byte("old")): {}})
	keys.Set(Accepted{sha256.Sum256([]byte("new")): {}, sha256.Sum256([]byte("newer")): {}})
	require.False(t, keys.has(sha256.Sum256([]byte("old"))))
	require.True(t, keys.has(sha256.Sum256([]byte("new"))))
	require.Equal(t, 2, keys.Len())
	sum := sha256.Sum256([]byte("new"))
	require.Equal(t, hex.EncodeToString(sum[:]), Name("new"))
	require.Empty(t, Name(""))
}
