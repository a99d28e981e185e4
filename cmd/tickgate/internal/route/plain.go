package route

import (
	"net/http"
	"net/url"
	"strings"
)

// Plain reports whether all servers read the same in what a request asks for, as far as
// its policy goes. Of one that is not plain the policy that is found here may not be
// that of what an upstream does:
//
//	/files/%2e%2e/orders     below /files/, and is /orders to who decodes and then cleans
//	/files/..;/orders        the same, where segments have parameters
//	//files/orders           /files/orders; and /orders of a host to a reader of URLs
//	/orders/7%2Frefund       one order; and its refund, where paths come decoded
//	http:/x, a:http://b/x    no path at all here
//	post                     no known method, until somebody writes it large
//
// So a target must be a path, with no segment that is empty (but the last), . or ..,
// also when decoded, and without control characters. What else may be read in two ways,
// such as an encoded slash, is plain where both have the same policy.
func (t *Table) Plain(r *http.Request) bool {
	if r.URL.Opaque != "" || strings.ToUpper(r.Method) != r.Method {
		return false
	}
	sent := r.URL.EscapedPath()
	if sent == "" { // of a URL that ends with the host
		return true
	}
	if sent[0] != '/' {
		return false
	}
	decoded, ok := segments(sent[1:])
	if !ok {
		return false
	}
	if decoded == "" {
		return true
	}
	other := *r
	other.URL = &url.URL{Path: decoded}
	return t.Policy(&other) == t.Policy(r)
}

// segments reports whether the segments of a path may be handed on. It returns the path
// as a server has it that decodes all and takes parameters off; "" if that is the same.
func segments(path string) (decoded string, ok bool) {
	var again strings.Builder
	differs := false
	for rest, more := path, true; more; {
		var one string
		one, rest, more = strings.Cut(rest, "/")
		if one == "" && more {
			return "", false
		}
		again.WriteByte('/')
		if strings.IndexByte(one, '%') < 0 && strings.IndexByte(one, ';') < 0 {
			if one == "." || one == ".." {
				return "", false
			}
			again.WriteString(one)
			continue
		}
		differs = true
		text, ends := unescape(one)
		if !ends || strings.ContainsFunc(text, isControl) {
			return "", false
		}
		for i, part := range strings.FieldsFunc(text, isSlash) {
			part, _, _ = strings.Cut(part, ";")
			switch strings.TrimRight(part, " ") {
			case ".", "..":
				return "", false
			}
			if i > 0 {
				again.WriteByte('/')
			}
			again.WriteString(part)
		}
	}
	if !differs {
		return "", true
	}
	return again.String(), true
}

func isSlash(c rune) bool { return c == '/' || c == '\\' }

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

// mostTimes is how often a path may be encoded over and over: more than any chain of
// servers decodes, and few enough that nobody is kept busy by it.
const mostTimes = 4

// unescape decodes what is encoded until nothing is. What looks like an encoding and is
// none stays. It reports false if that does not end soon.
func unescape(s string) (text string, ends bool) {
	for range mostTimes {
		var out strings.Builder
		for i := 0; i < len(s); i++ {
			if s[i] == '%' && i+2 < len(s) {
				if hi, lo := digit(s[i+1]), digit(s[i+2]); hi < 16 && lo < 16 {
					out.WriteByte(hi<<4 | lo)
					i += 2
					continue
				}
			}
			out.WriteByte(s[i])
		}
		if out.Len() == len(s) {
			return s, true
		}
		s = out.String()
	}
	return "", false
}

// digit is the value of a hexadecimal digit, 16 if c is none.
func digit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 16
}
