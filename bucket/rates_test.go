package bucket

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

const (
	second = int64(time.Second)
	minute = int64(time.Minute)
	hour   = int64(time.Hour)
	day    = 24 * hour
	year   = 365 * day
)

// rate is a limit as somebody would write it, and the scale it must have.
type rate struct {
	tokens, per, capacity int64
	q, c                  int64
}

// rates are exact, all of them.
var rates = []rate{
	{1, day, 1, 1, day},
	{1, day, 300, 1, day},
	{100, hour, 100, 1, 36 * second},
	{100, hour, 7, 1, 36 * second},
	{7, second, 7, 7, second},
	{7, second, 1, 7, second},
	{63, second, 1000, 63, second},
	{700, minute, 700, 7, 600_000_000},
	{5, 60 * second, 5, 1, 12 * second},
	{10, second, 20, 1, second / 10},
	{1200, minute, 100, 1, second / 20},
	{6000, minute, 6000, 1, second / 100},
	{1_000_000, second, 1_000_000, 1, 1000},
	{3_000_000, second, 50, 3, 1000},
	{48, 3600 * second, 3, 1, 75 * second},
	{1_000_000_000, second, 1<<53 + 1, 1, 1},
	{2_000_000_000, second, 10, 2, 1},
	{2_000_000_000, second, 2 * year, 2, 1},
	{63, 32, 63, 63, 32},
}

func (r rate) String() string {
	return fmt.Sprintf("%d/%v,b=%d", r.tokens, time.Duration(r.per), r.capacity)
}

func (r rate) limit(t testing.TB) Limit {
	t.Helper()
	l, err := New(r.tokens, r.per, r.capacity)
	require.NoError(t, err)
	return l
}

// eachRate runs f for every rate, on several axes and for both parities.
func eachRate(t *testing.T, f func(t *testing.T, l *Limit, o Origin, start clock.Time)) {
	origins := []Origin{0, OriginOf(1), OriginOf(12345), 1<<63 - 2, 1<<64 - 2}
	starts := []clock.Time{0, 1, -7, 1 << 40, 1 << 62, -1 << 62}
	for i, r := range rates {
		t.Run(r.String(), func(t *testing.T) {
			for j, start := range starts {
				l := r.limit(t).WithParity(uint64(i + j))
				f(t, &l, origins[(i+j)%len(origins)], start)
			}
		})
	}
}

// usedTokens is what w lacks to be full at now, exactly.
func usedTokens(l *Limit, w uint64, o Origin, now clock.Time) *big.Rat {
	return big.NewRat(used(w, l.pos(o, now)), l.cost)
}

// mustTake takes n tokens that must be there.
func mustTake(t *testing.T, l *Limit, w uint64, o Origin, now clock.Time, n int64) uint64 {
	t.Helper()
	next, ok := l.Take(w, o, now, n)
	require.True(t, ok, "take of %d, %d left", n, l.Remaining(w, o, now))
	require.Equal(t, l.Parity(), Parity(next))
	return next
}

// mustDeny asks for n tokens that must not be there. More than the capacity is
// denied before a word is looked at.
func mustDeny(t *testing.T, l *Limit, w uint64, o Origin, now clock.Time, n int64) {
	t.Helper()
	if !l.Fits(n) {
		return
	}
	_, ok := l.Take(w, o, now, n)
	require.False(t, ok, "take of %d, %d left", n, l.Remaining(w, o, now))
}
