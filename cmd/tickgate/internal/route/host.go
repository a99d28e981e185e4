package route

import (
	"net"
	"strings"
)

// foldHost is a host by which two hosts that are the same compare as such: without a
// port, in lower case, and without the dot that ends a full name.
func foldHost(host string) string {
	if strings.IndexByte(host, ':') >= 0 {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
	}
	return strings.ToLower(strings.TrimRight(host, "."))
}

// foldPattern is a pattern whose host is written as foldHost writes it.
func foldPattern(pattern string) string {
	from, to := hostOf(pattern)
	return pattern[:from] + foldHost(pattern[from:to]) + pattern[to:]
}

// hasPort reports whether the host of a pattern has a port. The mux would take it, and
// never find it.
func hasPort(pattern string) bool {
	from, to := hostOf(pattern)
	host := pattern[from:to]
	return strings.LastIndexByte(host, ':') > strings.LastIndexByte(host, ']')
}

// hostOf tells where in a pattern the host is, which may be empty: behind the method, and
// before the path.
func hostOf(pattern string) (from, to int) {
	if to = strings.IndexByte(pattern, '/'); to < 0 {
		return 0, 0
	}
	return strings.LastIndexAny(pattern[:to], " \t") + 1, to
}
