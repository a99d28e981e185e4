package policy

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Limit is one limit of a policy: at most Tokens per Per, counted the way
// Window says. Limits are comparable with ==.
type Limit struct {
	// Name appears in decisions, headers and metrics: at most 64 bytes of
	// printable ASCII without quotes and backslashes. Empty, the limit goes by
	// its canonical form, see Label.
	Name string
	// Tokens is what comes back in each Per; above zero, and together with Per
	// from one a day to 2e9 a second.
	Tokens int64
	// Per is the period, above zero and at most MaxPer.
	Per time.Duration
	// Burst means the bucket's capacity (as in x/time/rate); zero means Tokens.
	// Refilling it must take no more than MaxPer. Only a token bucket has one:
	// the capacity of any other window is its Tokens.
	Burst int64
	// Window is the way of counting; zero is TokenBucket. With Unlimited and
	// Deny, all numbers are zero.
	Window Window
	// Reserve is how many tokens of the capacity only urgent calls may take, so
	// that a cancel still passes when orders have used up the rest: 0 <= Reserve
	// < Capacity(). To an ordinary call the capacity is Capacity() - Reserve.
	Reserve int64
	// Skew guards against phase: how uncertain it is when the other side counts
	// a message, as its clock lags ours or the network delays it. Zero is no
	// guard. A window counts for that much longer:
	//
	//	Aligned    until Skew after its boundary; what passes between the
	//	           boundary and then counts in both windows; 2·Skew < Per
	//	FromFirst  nothing passes from Skew before the end until Skew after it;
	//	           2·Skew < Per
	//	Rolling    at most Tokens in any span of Per + Skew, which is at most MaxRolling
	//
	// A token bucket has no phase and no Skew: take a Burst that is lower by
	// the tokens that come back within the uncertainty.
	Skew time.Duration
}

// MaxRolling is the longest span of a Rolling limit, its Skew included: 6 days.
const MaxRolling = 6 * Day

// MaxWindowTokens is the highest Tokens of an Aligned, FromFirst or Rolling
// limit: 2^30, more than any venue counts, and little enough for half a word.
const MaxWindowTokens = 1 << 30

// Capacity returns the most tokens that can pass at once: Burst, or Tokens when
// Burst is zero; 0 for Deny and math.MaxInt64 for Unlimited.
func (l Limit) Capacity() int64 {
	switch {
	case l.Window == Unlimited:
		return math.MaxInt64
	case l.Window == Deny:
		return 0
	case l.Burst != 0:
		return l.Burst
	}
	return l.Tokens
}

// Rate returns Tokens and Per, both zero for Unlimited and Deny.
func (l Limit) Rate() Rate { return Rate{Tokens: l.Tokens, Per: l.Per} }

// Label returns the name that stands for the limit everywhere: Name, or the
// canonical form of an unnamed one, such as "100/s" or "10/s rolling".
func (l Limit) Label() string {
	if l.Name != "" {
		return l.Name
	}
	return l.String()
}

// String returns the canonical form, which ParseLimit reads back as the same
// limit: rate, burst and reserve if set, window unless it is a token bucket, skew
// and name if set.
// An invalid limit is printed as far as its fields go.
func (l Limit) String() string {
	var b strings.Builder
	if l.Window == Unlimited || l.Window == Deny {
		b.WriteString(l.Window.String())
		if l.Tokens != 0 || l.Per != 0 {
			b.WriteString(" " + l.Rate().String())
		}
	} else {
		b.WriteString(l.Rate().String())
	}
	if l.Burst != 0 {
		b.WriteString(" burst=" + strconv.FormatInt(l.Burst, 10))
	}
	if l.Reserve != 0 {
		b.WriteString(" reserve=" + strconv.FormatInt(l.Reserve, 10))
	}
	if l.Window != TokenBucket && l.Window != Unlimited && l.Window != Deny {
		b.WriteString(" " + l.Window.String())
	}
	if l.Skew != 0 {
		b.WriteString(" skew=" + formatSpan(l.Skew))
	}
	if l.Name != "" {
		if strings.Contains(l.Name, " ") {
			b.WriteString(` name="` + l.Name + `"`)
		} else {
			b.WriteString(" name=" + l.Name)
		}
	}
	return b.String()
}

// MarshalText returns the canonical form, or what Validate says against l: what
// is written can always be read back.
func (l Limit) MarshalText() ([]byte, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	return []byte(l.String()), nil
}

// UnmarshalText is ParseLimit.
func (l *Limit) UnmarshalText(text []byte) error {
	v, err := ParseLimit(string(text))
	if err != nil {
		return err
	}
	*l = v
	return nil
}
