package bucket

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// sharedRing is a key with a rolling limit that many take from at once.
type sharedRing struct {
	*anySlot
	clk  clock.Manual
	busy sync.Mutex // gifts come one at a time

	mu sync.Mutex
	j  journal
}

func newSharedRing(t testing.TB, w windowed, owner uint64) *sharedRing {
	return &sharedRing{anySlot: newAnySlot(w.limit(t), owner, 0)}
}

// look loads the word as a taker does.
func (r *sharedRing) look() Cell { return r.cell(r.limit()) }

// tryAt is one attempt of a taker that looked: it decides at now and swaps.
func (r *sharedRing) tryAt(c Cell, now clock.Time, n int64, pause func()) Outcome {
	next, got := r.limit().Try(c.Raw, &c, now, n, false)
	pause()
	switch {
	case got != Fits:
		return got
	case !r.word.CompareAndSwap(c.Raw, next):
		return Stale
	}
	r.mu.Lock()
	r.j = append(r.j, sent{now, n})
	r.mu.Unlock()
	return Fits
}

// takeAt takes n tokens at now, as the table's loop does.
func (r *sharedRing) takeAt(now clock.Time, n int64, pause func()) bool {
	for {
		c := r.look()
		pause()
		if got := r.tryAt(c, now, n, pause); got != Stale {
			return got == Fits
		}
	}
}

// giveAt gives back what was taken at the time at, never sent.
func (r *sharedRing) giveAt(at clock.Time, n int64) {
	r.busy.Lock()
	defer r.busy.Unlock()
	c := r.look()
	r.limit().Return(c.Raw, &c, at, r.clk.Now(), n)
}

// sometimes lets others run, one time in k.
func sometimes(rng *rand.Rand, k int) func() {
	return func() {
		if rng.IntN(k) == 0 {
			runtime.Gosched()
		}
	}
}

// Whoever comes at whatever time: exactly the tokens per span are let through, by
// all together, while some have stalled since a span ago.
func TestRingSharesItsTokens(t *testing.T) {
	for _, w := range []windowed{
		{kind: Rolling, tokens: 5, span: 1000},
		{kind: Rolling, tokens: 8, span: 1000, skew: 100},
		{kind: Rolling, tokens: 300, span: second},
		{kind: Rolling, tokens: 1024, span: second},
		{kind: Rolling, tokens: 2050, span: second}, // four to a group
	} {
		r := newSharedRing(t, w, 77)
		ticks := 300
		if w.tokens > 100 {
			ticks = 25
		}
		stop := make(chan struct{})
		var stallers sync.WaitGroup
		for g := range 2 {
			stallers.Go(func() {
				rng := rand.New(rand.NewPCG(38, uint64(g)))
				for {
					c, now := r.look(), r.clk.Now()
					for until := now + clock.Time(rng.Int64N(3)*w.span); r.clk.Now() < until; runtime.Gosched() {
						select {
						case <-stop:
							return
						default:
						}
					}
					r.tryAt(c, now, 1, sometimes(rng, 2))
					select {
					case <-stop:
						return
					default:
						runtime.Gosched()
					}
				}
			})
		}
		total, group := 0, 1<<r.limit().roll.group
		for tick := range ticks {
			var takers sync.WaitGroup
			for g := range 4 {
				takers.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(tick), uint64(g)))
					for r.takeAt(r.clk.Now(), 1, sometimes(rng, 8)) {
					}
				})
			}
			takers.Wait()
			least := total + int(w.tokens) - (group - 1)
			sent := func() int {
				r.mu.Lock()
				defer r.mu.Unlock()
				return len(r.j)
			}
			// One that stalled may have swapped and be about to say so.
			for range 1 << 20 {
				if sent() >= least {
					break
				}
				runtime.Gosched()
			}
			require.GreaterOrEqual(t, sent(), least, "%+v, tick %d", w, tick)
			require.LessOrEqual(t, sent(), total+int(w.tokens), "%+v, tick %d", w, tick)
			total = sent()
			r.clk.Advance(time.Duration(1<<20 + 1000 + second))
		}
		close(stop)
		stallers.Wait()
		// Those that stalled may have taken at a new time of nobody, once at most.
		require.LessOrEqual(t, int64(len(r.j)), int64(total)+w.tokens)
		require.LessOrEqual(t, r.j.mostInSpan(w.span+w.skew), w.tokens, "%+v", w)
	}
}

// Takes of all weights, refunds, credits, clocks that are late, and helpers that
// stall: never more than the tokens in any span of what was sent.
func TestRingUnderConcurrency(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 100
	}
	for _, w := range []windowed{
		{kind: Rolling, tokens: 1, span: 1000},
		{kind: Rolling, tokens: 7, span: 1000},
		{kind: Rolling, tokens: 40, span: 5000, skew: 70},
		{kind: Rolling, tokens: 4100, span: 20_000},
	} {
		r := newSharedRing(t, w, 78)
		var back journal // given back before it was sent; under busy
		var wg sync.WaitGroup
		for g := range 6 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(39, uint64(g)))
				for range rounds {
					now := r.clk.Advance(0)
					switch rng.IntN(4) {
					case 0:
						now = r.clk.Advance(1)
					case 1:
						r.clk.Advance(100)
					case 2: // a caller within a table's grain
						now -= clock.Time(rng.Int64N(50))
					}
					n := 1 + rng.Int64N(w.tokens)/(1+rng.Int64N(4))
					if !r.takeAt(now, min(n, w.tokens), sometimes(rng, 4)) {
						r.clk.Advance(200)
						continue
					}
					if g < 2 && rng.IntN(2) == 0 {
						sometimes(rng, 2)()
						r.giveAt(now, n)
						r.mu.Lock()
						back = append(back, sent{now, n})
						r.mu.Unlock()
					}
				}
			})
		}
		wg.Wait()
		for _, b := range back {
			for k, e := range r.j {
				if e == b {
					r.j = r.j.without(k)
					break
				}
			}
		}
		require.LessOrEqual(t, r.j.mostInSpan(w.span+w.skew), w.tokens, "%+v", w)
		require.Greater(t, len(r.j), rounds/10, "%+v", w)
	}
}

// A slot that changes owner while takers of the key before are about to swap or to
// write: none of them takes, and the new key has all its tokens, and no more.
func TestRingChangesOwner(t *testing.T) {
	w := windowed{kind: Rolling, tokens: 5, span: 1000}
	for _, charged := range []bool{false, true} {
		r := newSharedRing(t, w, 100)
		r.clk.Set(5000)
		var wg sync.WaitGroup
		for owner := uint64(101); owner < 160; owner++ {
			rng := rand.New(rand.NewPCG(owner, 40))
			for r.takeAt(r.clk.Now(), 1, sometimes(rng, 4)) {
			}
			require.Len(t, r.j, 5)
			r.j = nil
			// Takers of this key, which looked and stalled; the last take is not in
			// the ring yet.
			if charged {
				r.charge(2)
			}
			var old []Cell
			for range 3 {
				old = append(old, r.look())
			}
			r.clk.Advance(1000)
			// The key goes, another comes, as the table brings it in.
			r.owner, r.o = owner, OriginOf(owner)
			c := r.look()
			c.Open()
			r.word.Store(r.limit().First(r.o, r.clk.Now(), 1))
			r.j = append(r.j, sent{r.clk.Now(), 1})
			for k, c := range old {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(owner, uint64(k)))
					now := r.clk.Now()
					switch next, got := r.limit().Try(c.Raw, &c, now, 1, false); got {
					case Fits:
						sometimes(rng, 2)()
						if r.word.CompareAndSwap(c.Raw, next) {
							t.Error("a take of a key that is gone")
						}
					case Short:
						t.Error("a denial by a ring that is another key's")
					}
					r.limit().Return(c.Raw, &c, now, now, 3)
				})
			}
			for range 4 {
				require.True(t, r.takeAt(r.clk.Now(), 1, sometimes(rng, 2)))
			}
			require.False(t, r.takeAt(r.clk.Now(), 1, sometimes(rng, 2)))
			wg.Wait()
			require.Equal(t, int64(5), r.spent())
			for _, c := range old {
				r.limit().Return(c.Raw, &c, r.clk.Now(), r.clk.Now(), 3)
				r.limit().Relieve(c.Raw, &c, r.clk.Now(), 3)
			}
			require.False(t, r.takeAt(r.clk.Now(), 1, sometimes(rng, 2)), "owner %d", owner)
			r.clk.Advance(1000)
			r.j = nil
		}
	}
}
