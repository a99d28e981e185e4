package policy

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

const redisForm = `write redis://[user:password@]host[:port][,host[:port]...][/db], rediss:// for TLS, ` +
	`valkey:// or valkeys:// for the same, or unix:///path/to/socket, with "/", "?" and "@" in a password written %2F, %3F and %40`

// redisURLFault says what is wrong with the form of a Redis URL, nothing if it is
// good. It is not net/url because that refuses a list of hosts and repeats the
// whole URL in its errors. No reason repeats a part of the URL: in a malformed
// one, any part may be the password.
func redisURLFault(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] == 0x7f {
			return "must not contain spaces or control characters"
		}
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return "has no scheme"
	}
	switch scheme {
	case "redis", "rediss", "valkey", "valkeys", "unix":
	default:
		return "the scheme must be redis, rediss, valkey, valkeys or unix"
	}
	rest, _, _ = strings.Cut(rest, "?")
	authority, path, hasPath := strings.Cut(rest, "/")
	hosts := authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if strings.IndexByte(authority, '@') != at {
			return `a user or password contains a bare "@"`
		}
		hosts = authority[at+1:]
	}
	if scheme == "unix" {
		if hosts != "" || !hasPath || path == "" {
			return "a socket needs an absolute path and no host"
		}
		return ""
	}
	if path != "" && !allDigits(path) {
		return "the database after the slash must be a number"
	}
	for i, host := range strings.Split(hosts, ",") {
		if reason := addressFault(host); reason != "" {
			return fmt.Sprintf("address %d %s", i+1, reason)
		}
	}
	return ""
}

// addressFault judges "host", "host:port", "[ipv6]" or "[ipv6]:port".
func addressFault(s string) string {
	host, port, hasPort := s, "", false
	if strings.HasPrefix(s, "[") {
		inside, after, closed := strings.Cut(s[1:], "]")
		if ip, err := netip.ParseAddr(inside); !closed || err != nil || !ip.Is6() {
			return "is not an IPv6 address in brackets"
		}
		if port, hasPort = strings.CutPrefix(after, ":"); !hasPort && after != "" {
			return "has something other than a port after the bracket"
		}
	} else {
		host, port, hasPort = strings.Cut(s, ":")
		if host == "" {
			return "has no host"
		}
		for i := 0; i < len(host); i++ {
			c := host[i]
			if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_') {
				return "has a host with characters other than letters, digits, dots and dashes"
			}
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); hasPort && (err != nil || n == 0 || !allDigits(port)) {
		return "has a port that is not a number from 1 to 65535"
	}
	return ""
}

// hideURL keeps the scheme, when there is one that is only letters.
func hideURL(s string) string {
	scheme, _, ok := strings.Cut(s, "://")
	if !ok || len(scheme) > len("postgresql") {
		return "***"
	}
	for i := 0; i < len(scheme); i++ {
		if c := scheme[i] | 0x20; c < 'a' || c > 'z' {
			return "***"
		}
	}
	return scheme + "://***"
}
