package ratecompat

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// t0 is where the tests' own time begins. It has no monotonic reading, so nothing
// of the machine's time gets in.
var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// sec is t0 and s seconds.
func sec(s float64) time.Time { return t0.Add(time.Duration(s * 1e9)) }

// allowed counts how many of tries single events pass at t.
func allowed(l *Limiter, t time.Time, tries int) (n int) {
	for range tries {
		if l.AllowN(t, 1) {
			n++
		}
	}
	return n
}

// requireTokens checks what is left to within a billionth of a token.
func requireTokens(t testing.TB, want float64, l *Limiter, at time.Time) {
	t.Helper()
	require.InDelta(t, want, l.TokensAt(at), 1e-9)
}
