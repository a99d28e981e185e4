package venue

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// form is how a header says how long to wait.
type form uint8

const (
	// seconds is a number of seconds, or a date as HTTP writes it.
	seconds form = iota
	// unixMillis is a time in milliseconds since 1970. One that has passed
	// means not to wait.
	unixMillis
)

// wait reads a header; reason is empty if it makes sense.
func (f form) wait(text string, now time.Time) (d time.Duration, reason string) {
	tooLong := fmt.Sprintf("waits longer than %d days", maxBan/(24*time.Hour))
	n, reason := wholeNumber(text)
	if f == unixMillis {
		if reason != "" {
			return 0, reason
		}
		left := n - now.UnixMilli() // n is not negative
		switch {
		case now.UnixMilli() < 0:
			return 0, "cannot be compared with a clock before 1970"
		case left > maxBan.Milliseconds():
			return 0, tooLong
		}
		return time.Duration(max(left, 0)) * time.Millisecond, ""
	}
	if reason != "" {
		at, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", strings.TrimSpace(text))
		if err != nil {
			return 0, "neither a whole number of seconds nor an HTTP date"
		}
		switch d := at.Sub(now); {
		case d <= 0:
			return 0, "a time that has passed"
		case d > maxBan:
			return 0, tooLong
		default:
			return d, ""
		}
	}
	switch {
	case n == 0: // a refusal always means to wait
		return 0, "must be above zero"
	case n > int64(maxBan/time.Second):
		return 0, tooLong
	}
	return time.Duration(n) * time.Second, ""
}

// wholeNumber reads digits alone, with spaces around them.
func wholeNumber(s string) (n int64, reason string) {
	const form = "not a whole number"
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, form
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, form
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, "too large a number"
	}
	return n, ""
}
