package ratecompat

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReserveDelays(t *testing.T) {
	l := NewLimiter(10, 2)
	for i, want := range []time.Duration{0, 0, 100, 200, 300} {
		r := l.ReserveN(sec(0), 1)
		require.True(t, r.OK())
		require.Equal(t, want*time.Millisecond, r.DelayFrom(sec(0)), "%d", i)
		require.Equal(t, max(0, want-50)*time.Millisecond, r.DelayFrom(sec(0.05)))
	}
	requireTokens(t, -3, l, sec(0))
	r := l.ReserveN(sec(0), 3)
	require.False(t, r.OK(), "more than the burst")
	require.Equal(t, InfDuration, r.DelayFrom(sec(9)))
	r.CancelAt(sec(0))
	requireTokens(t, -3, l, sec(0))
	require.False(t, new(Reservation).OK())
}

func TestReserveWithoutRefill(t *testing.T) {
	l := NewLimiter(0, 1)
	require.Zero(t, l.ReserveN(sec(0), 1).DelayFrom(sec(0)))
	r := l.ReserveN(sec(0), 1)
	require.True(t, r.OK())
	require.Equal(t, InfDuration, r.DelayFrom(sec(0)))
	requireTokens(t, -1, l, sec(5))
	r.CancelAt(sec(7))
	requireTokens(t, 0, l, sec(9))
}

func TestReserveTooDeep(t *testing.T) {
	l := NewLimiter(Every(24*time.Hour), 300)
	n := 0
	for ; l.ReserveN(sec(0), 300).OK(); n++ {
		require.Less(t, n, 100)
	}
	require.Greater(t, n, 70, "73 years of 365 days in 300 at once")
	require.InDelta(t, float64(300-300*n), l.TokensAt(sec(0)), 1e-6, "nothing is lost")
}

// Issues of golang.org/x/time/rate: its Cancel takes what was reserved afterwards
// for what was used.
func TestCancelWithLaterReservations(t *testing.T) {
	l := NewLimiter(10, 20)
	require.True(t, l.ReserveN(sec(0), 15).OK())
	ten := l.ReserveN(sec(0.1), 10)
	require.True(t, l.ReserveN(sec(0.2), 2).OK())
	ten.CancelAt(sec(0.3))
	requireTokens(t, 6, l, sec(0.3))
	require.Equal(t, 6, allowed(l, sec(0.3), 20))
}

func TestCancelInReverse(t *testing.T) {
	for _, rate := range []Limit{60, 1, 7, 0.3} {
		l := NewLimiter(rate, 1)
		r := []*Reservation{l.ReserveN(sec(0), 1), l.ReserveN(sec(0), 1), l.ReserveN(sec(0), 1)}
		for i := range r {
			r[len(r)-1-i].CancelAt(sec(0))
		}
		requireTokens(t, 1, l, sec(0))
		require.Equal(t, 1, allowed(l, sec(0), 5))
	}
}

// Of three, cancelled before any is due in any order, nothing remains.
func TestCancelInAnyOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		l := NewLimiter(1, 1)
		require.True(t, l.AllowN(sec(0), 1))
		r := []*Reservation{l.ReserveN(sec(0), 1), l.ReserveN(sec(0), 1), l.ReserveN(sec(0), 1)}
		for _, i := range order {
			r[i].CancelAt(sec(0.5))
			r[i].CancelAt(sec(0.5)) // twice is once
		}
		requireTokens(t, 0.5, l, sec(0.5))
	}
}

func TestCancelAfterItsTime(t *testing.T) {
	l := NewLimiter(1, 1)
	a, b := l.ReserveN(sec(0), 1), l.ReserveN(sec(0), 1)
	a.CancelAt(sec(0).Add(1))
	requireTokens(t, -1, l, sec(0))
	b.CancelAt(sec(1).Add(1))
	requireTokens(t, 0, l, sec(1))
	require.False(t, l.AllowN(sec(1), 1))
}

// B's place moves down when A gives up; then time refills part of it before its
// own delay is over, and only the rest can be given back.
func TestCancelGivesNoMoreThanTimeLeft(t *testing.T) {
	l := NewLimiter(1, 1)
	require.True(t, l.AllowN(sec(0), 1))
	a, b := l.ReserveN(sec(0), 1), l.ReserveN(sec(0), 1)
	a.CancelAt(sec(0.5))
	b.CancelAt(sec(1.5))
	requireTokens(t, 1, l, sec(1.5))
	require.Equal(t, 1, allowed(l, sec(1.5), 3))
}

func TestCancelAfterManySteps(t *testing.T) {
	l := NewLimiter(1, 1)
	old := l.ReserveN(sec(0), 1)
	old = l.ReserveN(sec(0), 1)
	for range maxSteps + 1 {
		a, b := l.ReserveN(sec(0), 1), l.ReserveN(sec(0), 1)
		a.CancelAt(sec(0))
		b.CancelAt(sec(0))
	}
	requireTokens(t, -1, l, sec(0))
	old.CancelAt(sec(0))
	requireTokens(t, -1, l, sec(0))
	l.ReserveN(sec(0), 1).CancelAt(sec(0))
	requireTokens(t, -1, l, sec(0))
}

func TestCancelAcrossChanges(t *testing.T) {
	l := NewLimiter(1, 10)
	require.True(t, l.AllowN(sec(0), 10))
	a, b := l.ReserveN(sec(0), 3), l.ReserveN(sec(0), 5)
	l.SetLimitAt(sec(1), 100)
	l.SetBurstAt(sec(1), 4)
	l.SetLimitAt(sec(1), 0)
	l.SetLimitAt(sec(2), 1)
	l.SetBurstAt(sec(2), 20)
	requireTokens(t, -7, l, sec(2))
	a.CancelAt(sec(2))
	requireTokens(t, -4, l, sec(2))
	b.CancelAt(sec(2))
	requireTokens(t, 1, l, sec(2))
}

// The model keeps all that was taken, and works out what would be the case if what
// was cancelled had never been.
type model struct {
	r, b  int64 // tokens a second, a divisor of 1e9
	takes []take
}

type take struct {
	at, n int64
	gone  bool
}

// full returns when the bucket is full, ns; before: just before take i.
func (m *model) full(before int) (f int64) {
	f = -1 << 62
	for _, k := range m.takes[:before] {
		if !k.gone {
			f = max(f, k.at) + k.n*(1e9/m.r)
		}
	}
	return f
}

func TestCancelAgreesWithModel(t *testing.T) {
	exact := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 9))
		m := &model{r: []int64{1, 2, 5, 10}[r.IntN(4)], b: 1 + r.Int64N(9)}
		l := NewLimiter(Limit(m.r), int(m.b))
		type held struct {
			*Reservation
			i int
		}
		var open []held
		equal, at := true, int64(0)
		for range 60 {
			if r.IntN(3) == 0 {
				at += r.Int64N(2 * 1e9 / m.r)
			}
			now := t0.Add(time.Duration(at))
			if len(open) > 0 && r.IntN(2) == 0 {
				k := r.IntN(len(open))
				h := open[k]
				open = append(open[:k], open[k+1:]...)
				if h.act.Before(now) {
					continue
				}
				if m.full(h.i) < at && m.takes[h.i].at < at {
					equal = false // time refilled part of it: what that is worth depends on later ones
				}
				h.CancelAt(now)
				m.takes[h.i].gone = true
			} else {
				n := 1 + r.Int64N(m.b)
				h := l.ReserveN(now, int(n))
				require.True(t, h.OK())
				m.takes = append(m.takes, take{at: at, n: n})
				if equal {
					due := max(0, m.full(len(m.takes))-m.b*(1e9/m.r)-at)
					require.Equal(t, time.Duration(due), h.DelayFrom(now))
				}
				open = append(open, held{h, len(m.takes) - 1})
			}
			left := float64(m.b) - float64(max(0, m.full(len(m.takes))-at))*float64(m.r)/1e9
			if equal {
				require.InDelta(t, left, l.TokensAt(now), 1e-9, "seed %d", seed)
				exact++
			} else {
				require.LessOrEqual(t, l.TokensAt(now), left+1e-9, "seed %d", seed)
			}
		}
	}
	require.Greater(t, exact, 10_000)
}
