package policy

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

const (
	// Day is 24 hours: rates know no calendar.
	Day = 24 * time.Hour
	// MaxPer is the longest period of a rate and the longest time an empty
	// bucket may take to refill: a year of 365 days.
	MaxPer = 365 * Day
	// MaxPerSecond is the highest rate, in tokens a second: two tokens for
	// each nanosecond of the clock. The lowest rate is one token a day.
	MaxPerSecond = 2_000_000_000
)

// Rate is a number of tokens per period. Both are above zero in a valid rate,
// which lies between one token a day and [MaxPerSecond].
type Rate struct {
	Tokens int64
	Per    time.Duration
}

// String returns the canonical form "N/[k]unit", in the largest unit that
// divides the period: "100/s", "5/m" for 5 per 60 s, "10/1500ms".
func (r Rate) String() string {
	return strconv.FormatInt(r.Tokens, 10) + "/" + formatPeriod(r.Per)
}

// ParseRate reads "N/[k]unit". N is a whole number, also with a decimal
// exponent ("1e6"); k a whole number, 1 when left out; the unit one of ns, us,
// ms, s, m, h, d or its long form ("sec", "seconds", "hour"). "10r/s" and "10-S"
// (S, M, H or D after a dash) are read too. Anything else, and a rate below one
// token a day or above 2e9 a second, is a [*ConfigError].
func ParseRate(s string) (Rate, error) {
	bad := func(reason string) (Rate, error) {
		return Rate{}, &ConfigError{Field: "rate", Value: s, Reason: reason + "; " + rateForm}
	}
	r, reason := readRate(strings.TrimSpace(s))
	if reason != "" {
		return bad(reason)
	}
	var reasons []string
	rateFaults(r, func(field, _, reason string) { reasons = append(reasons, field+" "+reason) })
	if len(reasons) > 0 {
		return bad(strings.Join(reasons, ", "))
	}
	return r, nil
}

const rateForm = `write N/[k]unit with whole numbers, as in "100/s" or "5/60s"`

// readRate splits a rate into its numbers and says what is wrong with its
// form. It does not judge the numbers.
func readRate(s string) (Rate, string) {
	if n, per, ok := strings.Cut(s, "/"); ok {
		tokens, reason := wholeNumber(strings.TrimSuffix(n, "r"))
		if reason != "" {
			return Rate{}, "the tokens before the slash " + reason
		}
		d, reason := readPeriod(per)
		if reason != "" {
			return Rate{}, "the period after the slash " + reason
		}
		return Rate{Tokens: tokens, Per: d}, ""
	}
	if n, per, ok := strings.Cut(s, "-"); ok && n != "" {
		tokens, reason := wholeNumber(n)
		if reason != "" {
			return Rate{}, "the tokens before the dash " + reason
		}
		switch strings.ToLower(per) {
		case "s", "m", "h", "d":
			d, _ := unitNamed(strings.ToLower(per))
			return Rate{Tokens: tokens, Per: d}, ""
		}
		return Rate{}, "after the dash must come S, M, H or D"
	}
	return Rate{}, "not a rate"
}

// rateFaults calls emit for every fault of r, without overflow for any numbers.
func rateFaults(r Rate, emit func(field, value, reason string)) {
	if r.Tokens <= 0 {
		emit("tokens", strconv.FormatInt(r.Tokens, 10), "must be above zero")
	}
	switch {
	case r.Per <= 0:
		emit("per", formatPeriod(r.Per), "must be above zero")
	case r.Per > MaxPer:
		emit("per", formatPeriod(r.Per), "must be at most 365d")
	}
	if r.Tokens <= 0 || r.Per <= 0 {
		return
	}
	// Above two tokens a nanosecond. Twice a positive int64 fits in a uint64.
	if uint64(r.Tokens) > 2*uint64(r.Per) {
		emit("tokens", r.String(), "must be at most 2e9 a second")
	}
	// Less than one token a day: tokens times a day is short of one period.
	if hi, lo := bits.Mul64(uint64(r.Tokens), uint64(Day)); hi == 0 && lo < uint64(r.Per) {
		emit("tokens", r.String(), "must be at least one a day")
	}
}

// units in the order in which a period is tried for printing.
var units = [...]struct {
	name string
	d    time.Duration
}{
	{"d", Day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second},
	{"ms", time.Millisecond}, {"us", time.Microsecond}, {"ns", time.Nanosecond},
}

// formatPeriod prints any duration exactly, in one unit: "s", "10s", "1500ms".
func formatPeriod(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	for _, u := range units {
		if d%u.d == 0 {
			if d == u.d {
				return u.name
			}
			return strconv.FormatInt(int64(d/u.d), 10) + u.name
		}
	}
	panic("unreachable: every duration is a multiple of 1 ns")
}

// formatSpan is formatPeriod with the number always there: where no slash stands
// before it, "1s" reads better than "s".
func formatSpan(d time.Duration) string {
	s := formatPeriod(d)
	if s[0] >= 'a' {
		return "1" + s
	}
	return s
}

// readPeriod reads "[k]unit".
func readPeriod(s string) (time.Duration, string) {
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	k := int64(1)
	if digits > 0 {
		var reason string
		if k, reason = wholeNumber(s[:digits]); reason != "" {
			return 0, reason
		}
	}
	unit, ok := unitNamed(s[digits:])
	if !ok {
		return 0, "must be a whole number and a unit: ns, us, ms, s, m, h or d"
	}
	hi, lo := bits.Mul64(uint64(k), uint64(unit))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, "must be at most 365d"
	}
	return time.Duration(lo), ""
}

// unitNamed returns the length of a unit by its short or long name.
func unitNamed(name string) (time.Duration, bool) {
	switch name {
	case "ns", "nanosecond", "nanoseconds":
		return time.Nanosecond, true
	case "us", "µs", "μs", "microsecond", "microseconds": // micro sign, Greek mu
		return time.Microsecond, true
	case "ms", "msec", "millisecond", "milliseconds":
		return time.Millisecond, true
	case "s", "sec", "secs", "second", "seconds":
		return time.Second, true
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute, true
	case "h", "hr", "hrs", "hour", "hours":
		return time.Hour, true
	case "d", "day", "days":
		return Day, true
	}
	return 0, false
}

// wholeNumber reads digits with an optional decimal exponent ("1e6"), exactly.
// The reason completes a sentence whose subject is the number.
func wholeNumber(s string) (n int64, reason string) {
	const form = "must be a whole number"
	digits, exp, hasExp := strings.Cut(s, "e")
	if !allDigits(digits) || hasExp && !allDigits(exp) {
		return 0, form
	}
	const tooBig = "must be at most 9223372036854775807"
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, tooBig
	}
	if !hasExp || n == 0 {
		return n, ""
	}
	power, err := strconv.ParseUint(exp, 10, 8)
	if err != nil {
		return 0, tooBig
	}
	for ; power > 0; power-- {
		if n > math.MaxInt64/10 {
			return 0, tooBig
		}
		n *= 10
	}
	return n, ""
}

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
