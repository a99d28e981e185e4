package venuesim

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// history judges anew from the list of all that was counted.
type history struct {
	limit  Limit
	events []event
}

// used follows the words of each rule as directly as can be.
func (h *history) used(at int64) int64 {
	per := int64(h.limit.Per)
	sum := int64(0)
	switch h.limit.Kind {
	case Aligned:
		start := at
		for (start-int64(h.limit.Phase))%per != 0 {
			start--
		}
		for _, e := range h.events {
			if e.at >= start {
				sum += e.n
			}
		}
	case Rolling:
		for _, e := range h.events {
			if e.at > at-per {
				sum += e.n
			}
		}
	case FromFirst:
		open, start := false, int64(0)
		for _, e := range h.events {
			if !open || e.at >= start+per {
				open, start, sum = true, e.at, 0
			}
			sum += e.n
		}
		if !open || at >= start+per {
			sum = 0
		}
	case TokenBucket, Decaying:
		level, last := new(big.Rat), int64(0)
		rate := big.NewRat(h.limit.Tokens, per)
		fall := func(to int64) {
			level.Sub(level, new(big.Rat).Mul(rate, big.NewRat(to-last, 1)))
			if level.Sign() < 0 {
				level.SetInt64(0)
			}
			last = to
		}
		for _, e := range h.events {
			fall(e.at)
			level.Add(level, big.NewRat(e.n, 1))
		}
		fall(at)
		up := new(big.Int).Sub(new(big.Int).Add(level.Num(), level.Denom()), big.NewInt(1))
		sum = up.Quo(up, level.Denom()).Int64()
	}
	return sum
}

func TestCountersAgainstTheirHistory(t *testing.T) {
	for _, k := range []Kind{TokenBucket, Decaying, Aligned, FromFirst, Rolling} {
		t.Run(k.String(), func(t *testing.T) {
			for seed := uint64(0); seed < 80; seed++ {
				random := rand.New(rand.NewPCG(seed, uint64(k)))
				l := Limit{Kind: k, Tokens: 1 + random.Int64N(7), Per: time.Duration(1 + random.Int64N(12))}
				if k == TokenBucket || k == Decaying {
					l.Burst = random.Int64N(9)
				}
				if k == Aligned {
					l.Phase = time.Duration(random.Int64N(int64(l.Per)))
				}
				c, h, at := newCounter(l), &history{limit: l}, int64(0)
				for step := 0; step < 60; step++ {
					at += random.Int64N(5)
					n := 1 + random.Int64N(4)
					used := h.used(at)
					require.Equal(t, used, c.used(at), "%+v seed %d step %d", l, seed, step)
					fits := c.fits(at, n)
					require.Equal(t, used+n <= l.Capacity(), fits, "%+v seed %d step %d", l, seed, step)

					// The promised time is the first: the history says so too.
					when := c.earliest(at, n)
					if n > l.Capacity() && used > 0 {
						require.Equal(t, Never, when)
					}
					if when != Never {
						require.LessOrEqual(t, h.used(when)+n, l.Capacity())
						if when > at {
							require.Greater(t, h.used(when-1)+n, l.Capacity())
						}
					}
					if fits || random.IntN(8) == 0 { // now and then beyond the limit, as tries are
						c.add(at, n)
						h.events = append(h.events, event{at, n})
					}
				}
			}
		})
	}
}

// Numbers at the end of the range neither wrap nor let anything through.
func TestCountersAtTheEndOfTheRange(t *testing.T) {
	const end = int64(1) << 62
	for _, k := range []Kind{TokenBucket, Decaying, Aligned, FromFirst, Rolling} {
		t.Run(k.String(), func(t *testing.T) {
			c := newCounter(Limit{Kind: k, Tokens: Never - 1, Per: time.Duration(Never)})
			require.True(t, c.fits(0, Never-1))
			c.add(0, Never-1)
			require.False(t, c.fits(0, 1))
			require.False(t, c.fits(0, Never))
			c.add(0, Never)
			require.False(t, c.fits(1, Never))
			require.Equal(t, Never, c.used(1))
			require.Equal(t, Never, newCounter(Limit{Kind: k, Tokens: Never, Per: 1}).most(0, end))

			slow := newCounter(Limit{Kind: k, Tokens: 1, Per: time.Duration(end)})
			slow.add(0, 1)
			require.False(t, slow.fits(end-1, 1))
			require.True(t, slow.fits(end, 1))
		})
	}
}
