package policy

import "fmt"

// Window is the way a limit counts. The zero value is TokenBucket.
type Window uint8

const (
	// TokenBucket refills smoothly at Tokens per Per and holds at most the
	// capacity. Over any span t it admits at most capacity + rate·t.
	//
	// Some venues describe the same thing as a decaying counter: it goes up by
	// the cost of each call, decays at a constant rate, and a call that would
	// lift it above a maximum is refused. The counter is what is used of the
	// bucket: Tokens per Per is the decay, Burst the maximum.
	TokenBucket Window = iota
	// Aligned counts in fixed windows of Per that start at whole multiples of
	// Per on the wall clock. Two full windows may meet at a boundary.
	Aligned
	// FromFirst counts in fixed windows of Per, each of which starts at the
	// first call after the last one ended.
	FromFirst
	// Rolling admits at most Tokens in every span of Per, wherever it starts.
	Rolling
	// Unlimited lets everything pass. Such a limit has no numbers and stands
	// alone in its policy.
	Unlimited
	// Deny lets nothing pass. Such a limit has no numbers and stands alone in
	// its policy.
	Deny
)

// windowForms is what an error offers when a window is not known.
const windowForms = "write token-bucket, aligned, from-first, rolling, unlimited or deny"

// String returns the word that stands for w in a limit: "token-bucket",
// "aligned", "from-first", "rolling", "unlimited" or "deny"; "window(9)" for a
// value that is none of them.
func (w Window) String() string {
	switch w {
	case TokenBucket:
		return "token-bucket"
	case Aligned:
		return "aligned"
	case FromFirst:
		return "from-first"
	case Rolling:
		return "rolling"
	case Unlimited:
		return "unlimited"
	case Deny:
		return "deny"
	}
	return fmt.Sprintf("window(%d)", uint8(w))
}

// ParseWindow reads a word that [Window.String] prints. Anything else is a
// [*ConfigError].
func ParseWindow(s string) (Window, error) {
	if w, ok := windowNamed(s); ok {
		return w, nil
	}
	return 0, &ConfigError{Field: "window", Value: s, Reason: "not a window; " + windowForms}
}

func windowNamed(s string) (Window, bool) {
	for w := TokenBucket; w <= Deny; w++ {
		if s == w.String() {
			return w, true
		}
	}
	return 0, false
}

// MarshalText returns the word of w, or an error if w is no window.
func (w Window) MarshalText() ([]byte, error) {
	if w > Deny {
		return nil, &ConfigError{Field: "window", Value: w.String(), Reason: "not a window; " + windowForms}
	}
	return []byte(w.String()), nil
}

// UnmarshalText reads what MarshalText writes.
func (w *Window) UnmarshalText(text []byte) error {
	v, err := ParseWindow(string(text))
	if err != nil {
		return err
	}
	*w = v
	return nil
}
