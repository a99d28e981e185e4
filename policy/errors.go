package policy

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// ConfigError is one fault in a configuration.
type ConfigError struct {
	// Field is where: a path such as "policies[2](order.new).limits[0].per",
	// or the name of an environment variable.
	Field string
	// Value is what was found there, as text. It may be of any length; Error
	// shows its beginning.
	Value string
	// Reason says what is wrong and what to write instead.
	Reason string
}

// Error returns one line: field, value, reason.
func (e *ConfigError) Error() string {
	return e.Field + " = " + show(e.Value) + ": " + e.Reason
}

// ParseError is a fault with its place in the text that was read. Err is a
// [*ConfigError] when the text was well-formed JSON.
type ParseError struct {
	Line   int // from 1
	Column int // in bytes, from 1
	Err    error
}

// Error returns one line that starts with the place.
func (e *ParseError) Error() string {
	return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
}

// Unwrap returns the fault without its place.
func (e *ParseError) Unwrap() error { return e.Err }

// maxShown bounds the part of a value that an error repeats, in bytes: enough
// to recognise it, short enough for one line.
const maxShown = 80

// show prints a value on one line: bare when it is a plain word, quoted
// otherwise, cut when it is long.
func show(v string) string {
	tail := ""
	if len(v) > maxShown {
		cut := maxShown
		for cut > maxShown-utf8.UTFMax && !utf8.RuneStart(v[cut]) {
			cut--
		}
		v, tail = v[:cut], "..."
	}
	if number(v) {
		return v + tail
	}
	return strconv.Quote(v) + tail
}

// number reports whether v reads as a number or a rate without quotes around it.
func number(v string) bool {
	if v == "" {
		return false
	}
	for i := 0; i < len(v); i++ {
		c := v[i]
		switch {
		case c >= '0' && c <= '9':
		case i > 0 && (c >= 'a' && c <= 'z' || c == '/' || c == '.'):
		case i == 0 && c == '-' && len(v) > 1 && v[1] >= '0' && v[1] <= '9':
		default:
			return false
		}
	}
	return true
}

// maxFaults bounds one report: a hostile file of megabytes must not turn into
// an error of hundreds of megabytes.
const maxFaults = 1000

// errMore ends a report that is not complete.
var errMore = errors.New("and more faults; mend these first")

// report collects faults.
type report struct {
	list []error
	more bool // some were left out
}

// full notes that there is a fault for which there is no room.
func (r *report) full() bool {
	if len(r.list) < maxFaults {
		return false
	}
	r.more = true
	return true
}

func (r *report) add(err error) {
	if !r.full() {
		r.list = append(r.list, err)
	}
}

// err returns all faults as one error, nil when there are none.
func (r *report) err() error {
	if r.more {
		return errors.Join(append(r.list[:len(r.list):len(r.list)], errMore)...)
	}
	return errors.Join(r.list...)
}
