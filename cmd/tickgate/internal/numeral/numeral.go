// Package numeral writes numbers for people.
package numeral

import "strconv"

// Comma writes n with a comma every three digits.
func Comma(n int64) string {
	s, sign := strconv.FormatInt(n, 10), ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Plural writes n and the noun, with an s where it takes one.
func Plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Comma(n) + " " + noun + "s"
}
