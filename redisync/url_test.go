package redisync

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestURLs(t *testing.T) {
	for raw, want := range map[string]address{
		"redis://localhost":               {network: "tcp", addrs: []string{"localhost:6379"}},
		"valkey://h:1/2":                  {network: "tcp", addrs: []string{"h:1"}, db: 2},
		"redis://h:1?db=3":                {network: "tcp", addrs: []string{"h:1"}, db: 3},
		"redis://u:p%40%2F@[::1]:7,[::2]": {network: "tcp", addrs: []string{"[::1]:7", "[::2]:6379"}, user: "u", password: "p@/"},
		"redis://:a/b@c@h":                {network: "tcp", addrs: []string{"h:6379"}, password: "a/b@c"},
		"redis://a:1,b:2?addr=c:3&addr=d": {network: "tcp", addrs: []string{"a:1", "b:2", "c:3", "d:6379"}},
		"unix:///run/redis.sock?db=1":     {network: "unix", addrs: []string{"/run/redis.sock"}, db: 1},
		"unix://u:p@/run/redis.sock":      {network: "unix", addrs: []string{"/run/redis.sock"}, user: "u", password: "p"},
		"redis://:p@a,b:5?master_set=m&sentinel_user=s&sentinel_password=q": {
			network: "tcp", addrs: []string{"a:26379", "b:5"}, password: "p", masterSet: "m", sentinelUser: "s", sentinelPassword: "q"},
	} {
		got, err := parseURL(raw)
		require.NoError(t, err, raw)
		require.Equal(t, want, *got, raw)
	}
	a, err := parseURL("rediss://h:1,i:2?skip_verify=true")
	require.NoError(t, err)
	require.True(t, a.tls.InsecureSkipVerify)
	require.Equal(t, "i", a.tlsFor("i:2").ServerName)
	a, err = parseURL("rediss://h?server_name=other")
	require.NoError(t, err)
	require.Equal(t, "other", a.tlsFor("h:6379").ServerName)
}

func TestURLsThatAreWrong(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for raw, want := range map[string]string{
		"":                                "begins with redis://",
		"localhost:6379":                  "begins with redis://",
		"http://h":                        "scheme \"http\"",
		"redis://":                        "a host is missing",
		"redis://h:0":                     "1 to 65535",
		"redis://h:x":                     "1 to 65535",
		"redis://h?addr=x@y":              "options",
		"redis://::1":                     "in brackets",
		"redis://a,,b":                    "a host is missing",
		"redis://h/x":                     "database is \"x\"",
		"redis://h/-1":                    "database is \"-1\"",
		"redis://user@h":                  "a user without a password",
		"redis://:secret%zz@h":            "%25",
		"redis://h?pool_size=3":           "no option \"pool_size\"",
		"redis://h?ca=x":                  "begin the URL with rediss://",
		"rediss://h?ca=/none":             "/none",
		"rediss://h?ca=" + empty:          "no certificate",
		"rediss://h?cert=" + empty:        "belong together",
		"rediss://h?skip_verify=yes":      "true or false",
		"redis://h?sentinel_password=x":   "need master_set",
		"unix://relative":                 "must begin with /",
		"redis://h:0,i:0/x?typo=1&typa=2": "typa",
	} {
		_, err := parseURL(raw)
		require.ErrorContains(t, err, want, raw)
		require.NotContains(t, err.Error(), "secret")
	}
	_, err := parseURL("redis://h:0/x?typo=1")
	require.Len(t, strings.Split(err.Error(), "\n"), 3, "every fault at once")
}

func TestURLFaultsNeverTellThePassword(t *testing.T) {
	for _, raw := range []string{
		"redis://:pa?Secret@h",
		"redis://:pa?Secret=x@h",
		"redis://user:pa?Secret@h:1/0",
		"redis://:pa/Secret?x@h",
		"redis://:pa/Secret@h:0",
		"redis://:pa/Secret@h/x",
		"redis://:Secret@x@h:0",
		"redis://:x@Secret@h:x",
		"redis://:x@Secret",
		"redis://:x/Secret@h?typo=1",
		"redis://user:Secret@h?addr=Secret@i",
		"redis://:p@h/1@Secret",
		"redis://:p@h?db=Secret@x",
		"redis://h?Secret@x=1",
		"redis://user:Secret",
		"redis://:Secret",
		"redis://user:Secret:1",
		"redis://user:x:Secret",
		"redis:Secret@h://x",
		"Secret@h://:x@y",
		"redis://:Secret%zz@h:0",
		"redis://Secret@h",
		"redis://:p#Secret@h/x",
		"rediss://:p?ca=/Secret@h",
		"rediss://:p?skip_verify=Secret@h",
		"unix://u:Secret?x@/run/sock",
		"unix://u:p?Secret@/run/sock",
		"http://:Secret@h",
		":Secret@h:6379",
	} {
		if a, err := parseURL(raw); err != nil {
			require.NotContains(t, strings.ToLower(err.Error()), "secret", raw)
		} else {
			require.Equal(t, []string{"Secret:6379"}, a.addrs, "it is the host here: %s", raw)
		}
	}
	_, err := parseURL("redis://:pa?ss@h")
	require.ErrorContains(t, err, "%3F", "says what to do")
}
