package redisync

import (
	"fmt"
	"strconv"
	"strings"
)

// Mode says how a policy is shared. It must be the same in all processes: what one shares
// on lease another on credit or strict does not see, nor the other way round, and nobody
// tells them. Credit and Strict share.
type Mode uint8

const (
	// Local: not at all.
	Local Mode = iota

	// Credit: the gate decides by itself, and tells Redis afterwards. At most the
	// policy's Credit of each key is used and not yet known to Redis, so N nodes admit
	// at most (N−1)·Credit too much.
	Credit

	// Lease: the gate spends what Redis granted it for a time. Nothing is admitted too
	// much; a key's first call is denied until something is granted.
	Lease

	// Strict: the gate denies every call, and [Sync.Take] asks Redis for each.
	Strict
)

var modes = []string{"local", "credit", "lease", "strict"}

// String returns the mode in small letters.
func (m Mode) String() string { return nameOf(modes, int(m), "Mode") }

// MarshalText is String.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what String returns.
func (m *Mode) UnmarshalText(text []byte) (err error) { return named(modes, text, m) }

// Rule says what a policy on credit admits while Redis is away.
type Rule uint8

const (
	// Share: each of N nodes goes on with the N-th part of the budget.
	Share Rule = iota

	// Open: each goes on with all of it.
	Open

	// Closed: what is left of the credit, and then nothing; once no server said
	// anything for MaxAge, nothing at all but urgent calls, which pass while credit is left.
	Closed
)

var rules = []string{"share", "open", "closed"}

// String returns the rule in small letters.
func (r Rule) String() string { return nameOf(rules, int(r), "Rule") }

// MarshalText is String.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what String returns.
func (r *Rule) UnmarshalText(text []byte) error { return named(rules, text, r) }

// Spent says what [Sync.Take] does where the credit is spent and Redis has not answered yet.
type Spent uint8

const (
	// Deny: it denies, with Reason Unsettled. A round trip later there usually
	// is credit again.
	Deny Spent = iota

	// Ask: it asks Redis for this call, as in Strict mode. For policies of one limit.
	Ask
)

var spents = []string{"deny", "ask"}

// String returns what is done in small letters.
func (s Spent) String() string { return nameOf(spents, int(s), "Spent") }

// MarshalText is String.
func (s Spent) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what String returns.
func (s *Spent) UnmarshalText(text []byte) error { return named(spents, text, s) }

func nameOf(names []string, i int, kind string) string {
	if i < len(names) {
		return names[i]
	}
	return kind + "(" + strconv.Itoa(i) + ")"
}

// named sets v to the number of text in names.
func named[T ~uint8](names []string, text []byte, v *T) error {
	for i, s := range names {
		if s == string(text) {
			*v = T(i)
			return nil
		}
	}
	return fmt.Errorf("%q: must be one of %s", text, strings.Join(names, ", "))
}
