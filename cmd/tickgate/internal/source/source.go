// Package source reads recorded requests, one per line, from the formats that
// order flow and web traffic are commonly kept in.
//
// A Reader turns one input into Records. What a line cannot be is a LineError,
// which names the input, the line and the reason and leaves the Reader usable;
// every other error ends the input. Lines are bounded, so that a file without
// line ends costs a fixed amount of memory, and text that reaches a Record is
// printable, so that it can be written to a terminal as it is.
package source

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxLine is the longest line accepted, in bytes without its end.
	MaxLine = 1 << 20
	// MaxName is the longest key and the longest endpoint accepted, in bytes:
	// the gate's own bound on a key.
	MaxName = 256
	// MaxAt is the latest time accepted, in nanoseconds: 2^62, in the year 2116.
	// Times beyond it would leave the gate no room to look ahead.
	MaxAt = int64(1) << 62
)

// Record is one recorded request.
type Record struct {
	At       int64  // nanoseconds since an arbitrary start, 0..MaxAt
	Key      string // who asked: 1..MaxName printable bytes
	Endpoint string // what for: 1..MaxName printable bytes
	Cost     int64  // tokens asked for, 0 or more
}

// Format names an input format.
type Format string

// The formats. Auto looks at the first lines and decides.
const (
	Auto     Format = "auto"
	CSV      Format = "csv"
	Combined Format = "combined"
	Lobster  Format = "lobster"
)

// LineError reports one line that is not a request.
type LineError struct {
	File   string // as given to Open, "stdin" for standard input
	Line   int64  // from 1
	Reason string // one line, no line end
}

// Error returns "file:line: reason".
func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason) }

// errSkip marks a well-formed line that records no request, for instance an
// execution in a message file.
var errSkip = errors.New("not a request")

// parser turns one line into a record. It returns errSkip for a line that is
// right but no request, any other error for a malformed one. It must not keep
// line, whose bytes are reused.
type parser interface {
	parse(line []byte, rec *Record) error
}

// Names keeps one copy of every distinct key and endpoint, so that reading a
// long input allocates for new names only. Not safe for concurrent use.
type Names map[string]string

// of returns the kept string equal to b.
func (n Names) of(b []byte) string {
	if s, ok := n[string(b)]; ok { // the compiler does not allocate for this conversion
		return s
	}
	s := string(b)
	n[s] = s
	return s
}

// CheckKey reports why s cannot be a key, in one line.
func CheckKey(s string) error { return checkName("key", []byte(s)) }

// checkName reports why b cannot be a key or an endpoint.
func checkName(what string, b []byte) error {
	switch {
	case len(b) == 0:
		return fmt.Errorf("%s is empty", what)
	case len(b) > MaxName:
		return fmt.Errorf("%s is %d bytes long, at most %d are allowed", what, len(b), MaxName)
	}
	for i := 0; i < len(b); {
		if c := b[i]; c >= 0x20 && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return fmt.Errorf("%s is not valid UTF-8", what)
		}
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%s holds the unprintable character %U", what, r)
		}
		i += size
	}
	return nil
}

// excerpt quotes at most the first 40 bytes of b for a message.
func excerpt(b []byte) string {
	const most = 40
	if len(b) <= most {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("%q...", b[:most])
}

// parseInt reads a decimal int64 that fills b, with an optional sign.
// It is strconv.ParseInt without the string.
func parseInt(b []byte) (int64, bool) {
	neg := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		neg = b[0] == '-'
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		if v > (1<<63)/10 {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	switch {
	case neg && v <= 1<<63:
		return -int64(v), true
	case !neg && v < 1<<63:
		return int64(v), true
	}
	return 0, false
}
