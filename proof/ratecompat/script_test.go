package ratecompat

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	theirs "golang.org/x/time/rate"

	ours "github.com/tickgate/tickgate/ratecompat"
)

// script plays the same calls to both limiters.
type script struct {
	t      testing.TB
	a      *theirs.Limiter
	b      *ours.Limiter
	now    time.Time
	rate   float64
	change func() float64 // the next rate, for a change

	// tolerance is by how many tokens the two may be apart. At exact rates it stays
	// 0. Elsewhere x/time computes in float64: three operations a call, each good to
	// 2^-53 of at most 4,096 tokens, so a thousand calls are good to 2e-9. Ours is
	// exact, but that a change of the rate rounds by less than a nanosecond's refill.
	tolerance float64
	float     bool

	split bool // the two disagreed within the tolerance: from here on they differ
	calls int  // that were compared
}

const floatTolerance = 2e-9

// call makes one call, chosen by op, with the argument v.
func (s *script) call(op, v int) {
	s.calls++
	switch op {
	default:
		n := v % 8
		left := s.a.TokensAt(s.now)
		x, y := s.a.AllowN(s.now, n), s.b.AllowN(s.now, n)
		if x != y && s.float && math.Abs(left-float64(n)) <= s.tolerance {
			s.split = true
			return
		}
		require.Equal(s.t, x, y, "AllowN(%d) with %v tokens", n, left)
	case 5, 6:
		n := v % 8
		x, y := s.a.ReserveN(s.now, n), s.b.ReserveN(s.now, n)
		s.sameDelay(x, y)
		if v/8%4 == 0 {
			// At once, and nothing was reserved after it: there both do the same.
			x.CancelAt(s.now)
			y.CancelAt(s.now)
		}
	case 7:
		r := s.change()
		s.a.SetLimitAt(s.now, theirs.Limit(r))
		s.b.SetLimitAt(s.now, ours.Limit(r))
		require.Equal(s.t, float64(s.a.Limit()), float64(s.b.Limit()))
		s.rate = r
		if s.float && r < 1e9 {
			s.tolerance += r / 1e9
		}
	case 8:
		b := v % 20
		s.a.SetBurstAt(s.now, b)
		s.b.SetBurstAt(s.now, b)
		require.Equal(s.t, s.a.Burst(), s.b.Burst())
	}
	require.InDelta(s.t, s.a.TokensAt(s.now), s.b.TokensAt(s.now), s.tolerance)
	later := s.now.Add(time.Duration(v) * time.Second / 64)
	require.InDelta(s.t, s.a.TokensAt(later), s.b.TokensAt(later), s.tolerance)
}

func (s *script) sameDelay(x *theirs.Reservation, y *ours.Reservation) {
	require.Equal(s.t, x.OK(), y.OK())
	for _, at := range []time.Time{s.now, s.now.Add(time.Second / 4)} {
		d, e := x.DelayFrom(at), y.DelayFrom(at)
		if !s.float || d == theirs.InfDuration || e == ours.InfDuration {
			require.Equal(s.t, d, e)
			continue
		}
		// x/time cuts a delay off to nanoseconds; ours is rounded up, so that the
		// tokens are there.
		require.InDelta(s.t, int64(d), int64(e), 2+s.tolerance/s.rate*1e9)
	}
}

func newScript(t testing.TB, rate float64, burst int) *script {
	return &script{
		t: t, rate: rate, now: time.Unix(1_700_000_000, 0),
		a: theirs.NewLimiter(theirs.Limit(rate), burst),
		b: ours.NewLimiter(ours.Limit(rate), burst),
	}
}
