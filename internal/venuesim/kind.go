package venuesim

import (
	"fmt"

	"github.com/tickgate/tickgate/policy"
)

// Kind is the way a limit counts. The zero value is TokenBucket.
type Kind uint8

const (
	// TokenBucket starts full, refills continuously at Tokens per Per up to its
	// capacity, and is computed when a message comes.
	TokenBucket Kind = iota
	// Aligned counts in windows of Per that start at Phase plus whole multiples
	// of Per on the venue's clock.
	Aligned
	// FromFirst counts in windows of Per, each opened by the first message that
	// counts after the last one ended.
	FromFirst
	// Rolling counts the messages of the last Per, from the list of all of them.
	Rolling
	// Decaying is a counter that each message raises by its cost, that falls by
	// Tokens per Per down to zero, and that must not pass the capacity.
	Decaying
	// Unlimited lets everything pass and counts nothing.
	Unlimited
	// Deny lets nothing pass, whatever it costs.
	Deny
)

var kindNames = [...]string{
	TokenBucket: "token-bucket",
	Aligned:     "aligned",
	FromFirst:   "from-first",
	Rolling:     "rolling",
	Decaying:    "decaying",
	Unlimited:   "unlimited",
	Deny:        "deny",
}

// String returns the word for k, "kind(9)" for a value that is none.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// kindOf returns the kind of a policy's window. It panics on a window it does
// not know: a rule left out would make a lenient judge.
func kindOf(w policy.Window) Kind {
	switch w {
	case policy.TokenBucket:
		return TokenBucket
	case policy.Aligned:
		return Aligned
	case policy.FromFirst:
		return FromFirst
	case policy.Rolling:
		return Rolling
	case policy.Unlimited:
		return Unlimited
	case policy.Deny:
		return Deny
	}
	panic("venuesim: no rule for the window " + w.String() + "; add its kind to this package")
}
