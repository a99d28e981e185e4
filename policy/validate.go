package policy

import (
	"fmt"
	"math/bits"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Validate returns nil, or every fault of the set joined into one error
// (errors.Join), each a [*ConfigError] whose Field is a path such as
// "policies[2](order.new).limits[0].per". After a thousand faults one line says
// that there are more. An empty set is valid: it denies everything. The cost is
// linear in the size of the set.
func (s Set) Validate() error {
	var r report
	s.faults(func(at place, value, reason string) {
		if r.full() { // spare the path
			return
		}
		r.add(&ConfigError{Field: s.path(at), Value: value, Reason: reason})
	})
	return r.err()
}

// Validate returns nil or every fault of the policy, as [Set.Validate] does.
func (p Policy) Validate() error {
	var r report
	p.faults(func(limit int, field, value, reason string) {
		r.add(&ConfigError{Field: "policy" + p.tag() + limitPath(limit, field), Value: value, Reason: reason})
	})
	return r.err()
}

// Validate returns nil or every fault of the limit, as [Set.Validate] does.
func (l Limit) Validate() error {
	var r report
	limitFaults(l, func(field, value, reason string) {
		r.add(&ConfigError{Field: "limit." + field, Value: value, Reason: reason})
	})
	return r.err()
}

// place is where in a set a fault lies: limit is -1 for the policy itself, field
// empty for the whole of it.
type place struct {
	policy, limit int
	field         string
}

// path prints a place for people. The endpoint is repeated because an index
// alone is hard to find in a long file.
func (s Set) path(at place) string {
	return fmt.Sprintf("policies[%d]%s%s", at.policy, s[at.policy].tag(), limitPath(at.limit, at.field))
}

func limitPath(limit int, field string) string {
	path := ""
	if limit >= 0 {
		path = fmt.Sprintf(".limits[%d]", limit)
	}
	if field != "" {
		path += "." + field
	}
	return path
}

// tag returns the endpoint in parentheses, nothing if it cannot be printed.
func (p Policy) tag() string {
	if endpointFault(p.Endpoint) != "" {
		return ""
	}
	return "(" + p.Endpoint + ")"
}

func (s Set) faults(emit func(at place, value, reason string)) {
	first := make(map[string]int, len(s))
	for i, p := range s {
		fault := func(limit int, field, value, reason string) {
			emit(place{i, limit, field}, value, reason)
		}
		if at, twice := first[p.Endpoint]; !twice {
			first[p.Endpoint] = i
		} else if p.Endpoint != "" {
			fault(-1, "endpoint", p.Endpoint,
				fmt.Sprintf("listed twice, first in policies[%d]; keep one", at))
		}
		p.faults(fault)
	}
}

func (p Policy) faults(emit func(limit int, field, value, reason string)) {
	if reason := endpointFault(p.Endpoint); reason != "" {
		emit(-1, "endpoint", p.Endpoint, reason)
	}
	switch n := len(p.Limits); {
	case n == 0:
		emit(-1, "limits", "", `must not be empty; write "unlimited" or "deny" if that is meant`)
	case n > MaxLimits:
		emit(-1, "limits", strconv.Itoa(n), fmt.Sprintf("must be at most %d limits", MaxLimits))
	}
	first := make(map[string]int, len(p.Limits))
	for j, l := range p.Limits {
		valid := true
		limitFaults(l, func(field, value, reason string) {
			valid = false
			emit(j, field, value, reason)
		})
		if (l.Window == Unlimited || l.Window == Deny) && len(p.Limits) > 1 {
			emit(j, "window", l.Window.String(), "must be the only limit of its policy")
		}
		if !valid && l.Name == "" {
			continue // its label is made of faulty numbers
		}
		label := l.Label()
		if at, twice := first[label]; twice {
			emit(j, "name", label, fmt.Sprintf("same name as limits[%d]; give one of them another name", at))
		} else {
			first[label] = j
		}
	}
	if p.Credit < 0 {
		emit(-1, "credit", strconv.FormatInt(p.Credit, 10), "must not be negative")
	}
}

// limitFaults calls emit for every fault of l, without overflow for any numbers.
func limitFaults(l Limit, emit func(field, value, reason string)) {
	if reason := nameFault(l.Name); reason != "" {
		emit("name", l.Name, reason)
	}
	if l.Window == Unlimited || l.Window == Deny {
		reason := "must be left out of " + l.Window.String()
		if l.Tokens != 0 {
			emit("tokens", strconv.FormatInt(l.Tokens, 10), reason)
		}
		if l.Per != 0 {
			emit("per", formatPeriod(l.Per), reason)
		}
		if l.Burst != 0 {
			emit("burst", strconv.FormatInt(l.Burst, 10), reason)
		}
		if l.Reserve != 0 {
			emit("reserve", strconv.FormatInt(l.Reserve, 10), reason)
		}
		if l.Skew != 0 {
			emit("skew", formatSpan(l.Skew), reason)
		}
		return
	}
	rateFaults(l.Rate(), emit)
	counts := l.Window == Aligned || l.Window == FromFirst || l.Window == Rolling
	if counts && l.Tokens > MaxWindowTokens {
		emit("tokens", strconv.FormatInt(l.Tokens, 10),
			fmt.Sprintf("must be at most %d in a window; only a token bucket holds more", MaxWindowTokens))
	}
	burst := strconv.FormatInt(l.Burst, 10)
	switch {
	case l.Burst < 0:
		emit("burst", burst, "must not be negative; zero means the tokens")
	case l.Burst == 0:
	case l.Window == TokenBucket:
		if l.Tokens > 0 && l.Per > 0 && tooLongToFill(l) {
			emit("burst", burst, "must refill within 365d")
		}
	case l.Burst != l.Tokens:
		emit("burst", burst, "must be left out: only a token bucket has a burst, the capacity of a window is its tokens")
	}
	if l.Window == Rolling && l.Per > MaxRolling && l.Per <= MaxPer {
		emit("per", formatPeriod(l.Per), "must be at most 6d for a rolling limit")
	}
	reserveFaults(l, emit)
	skewFaults(l, emit)
	if l.Window > Deny {
		emit("window", l.Window.String(), "not a window; "+windowForms)
	}
}

func reserveFaults(l Limit, emit func(field, value, reason string)) {
	reserve := strconv.FormatInt(l.Reserve, 10)
	switch capacity := l.Capacity(); {
	case l.Reserve < 0:
		emit("reserve", reserve, "must not be negative; zero keeps nothing for urgent calls")
	case l.Reserve > 0 && capacity > 0 && l.Reserve >= capacity: // a faulty capacity is a fault of its own
		emit("reserve", reserve, fmt.Sprintf("must be below the capacity of %d, so that ordinary calls can pass", capacity))
	}
}

func skewFaults(l Limit, emit func(field, value, reason string)) {
	fault := func(reason string) { emit("skew", formatSpan(l.Skew), reason) }
	switch {
	case l.Skew < 0:
		fault("must not be negative; zero is no guard")
	case l.Skew == 0:
	case l.Window == TokenBucket:
		fault("must be left out of a token bucket; lower its burst by rate x jitter instead")
	case l.Per <= 0 || l.Per > MaxPer: // a fault of its own
	case l.Window == Rolling:
		if l.Per <= MaxRolling && l.Skew > MaxRolling-l.Per {
			fault("must be at most 6d together with the period")
		}
	case l.Window == Aligned || l.Window == FromFirst:
		if l.Skew > (l.Per-1)/2 { // 2·Skew >= Per, without overflow
			fault("must be less than half the period of " + formatSpan(l.Per))
		}
	}
}

// tooLongToFill reports whether Burst · Per / Tokens > MaxPer, in 128 bits: both
// products reach 2^118.
func tooLongToFill(l Limit) bool {
	needHi, needLo := bits.Mul64(uint64(l.Burst), uint64(l.Per))
	haveHi, haveLo := bits.Mul64(uint64(l.Tokens), uint64(MaxPer))
	return needHi > haveHi || needHi == haveHi && needLo > haveLo
}

// endpointFault says what is wrong with an endpoint, nothing if it is good.
// Control characters and broken UTF-8 are refused because nobody can see them
// in a listing and JSON does not keep them.
func endpointFault(s string) string {
	switch {
	case s == "":
		return "must not be empty"
	case len(s) > MaxEndpoint:
		return fmt.Sprintf("must be at most %d bytes, has %d", MaxEndpoint, len(s))
	case !utf8.ValidString(s):
		return "must be UTF-8"
	}
	for _, c := range s {
		if unicode.IsControl(c) {
			return "must not contain control characters"
		}
	}
	return ""
}

// maxName bounds a limit's name, in bytes: it becomes part of every header.
const maxName = 64

// nameFault says what is wrong with a limit's name. The characters are those
// that a quoted string in an HTTP header carries without escapes.
func nameFault(s string) string {
	if len(s) > maxName {
		return fmt.Sprintf("must be at most %d bytes, has %d", maxName, len(s))
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return "must be printable ASCII without quotes and backslashes"
		}
	}
	return ""
}
