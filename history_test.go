package tickgate_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// passed is an admission: when the call began and when it had ended. It was decided
// at some time in between.
type passed struct {
	begun, ended clock.Time
	n            int64
}

// admissions are what passed, of any number of takers.
type admissions struct {
	mu  sync.Mutex
	all []passed
}

func (h *admissions) add(all []passed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, all...)
}

func (h *admissions) total() (n int64) {
	for _, p := range h.all {
		n += p.n
	}
	return n
}

// breach looks for a window of l in which more passed than l allows, counting only
// calls that began and ended within it. Empty if there is none. wall is the offset of
// the wall clock.
func (h *admissions) breach(l policy.Limit, wall time.Duration) string {
	all := slices.Clone(h.all)
	slices.SortFunc(all, func(a, b passed) int { return int(a.ended - b.ended) })
	switch l.Window {
	case policy.Aligned:
		return h.aligned(all, l, wall)
	case policy.FromFirst:
		return h.fromFirst(all, l)
	case policy.Rolling:
		return spans(all, l, func(time.Duration) int64 { return l.Tokens }, l.Per+l.Skew)
	}
	return spans(all, l, func(d time.Duration) int64 {
		return l.Capacity() + int64(math.Floor(float64(d)*float64(l.Tokens)/float64(l.Per)+1e-6))
	}, math.MaxInt64)
}

// spans checks every half-open span that is not longer than most. What begins first
// in a span is where it begins.
func spans(all []passed, l policy.Limit, allowed func(time.Duration) int64, most time.Duration) string {
	begins := slices.Clone(all)
	slices.SortFunc(begins, func(a, b passed) int { return int(a.begun - b.begun) })
	for i, first := range begins {
		if i > 0 && first.begun == begins[i-1].begun {
			continue
		}
		n := int64(0)
		from, _ := slices.BinarySearchFunc(all, first.begun, func(p passed, at clock.Time) int { return int(p.ended - at) })
		for j, p := range all[from:] {
			if p.ended.Sub(first.begun) >= most {
				break
			}
			if p.begun >= first.begun {
				n += p.n
			}
			last := from+j == len(all)-1 || all[from+j+1].ended > p.ended
			if d := p.ended.Sub(first.begun); last && n > allowed(d) {
				return fmt.Sprintf("%s: %d passed in the %v from %v", l, n, d, first.begun)
			}
		}
	}
	return ""
}

// aligned checks the windows of the wall clock: where there is a skew, by every
// clock that lags by up to it.
func (h *admissions) aligned(all []passed, l policy.Limit, wall time.Duration) string {
	for _, lag := range []time.Duration{0, l.Skew / 2, l.Skew} {
		counts := map[int64]int64{}
		for _, p := range all {
			k := int64(p.begun.Add(wall-lag)) / int64(l.Per)
			if k == int64(p.ended.Add(wall-lag))/int64(l.Per) {
				counts[k] += p.n
			}
			if counts[k] > l.Tokens {
				return fmt.Sprintf("%s: %d passed in window %d of a clock that lags %v", l, counts[k], k, lag)
			}
		}
	}
	return ""
}

// fromFirst checks the windows that the admissions open. Each was opened by the first
// that was decided after the one before had ended, and when that was is known to
// within some calls; what certainly fell into it is counted.
func (h *admissions) fromFirst(all []passed, l policy.Limit) string {
	long := l.Per + l.Skew
	earliest, latest := clock.Time(math.MinInt64), clock.Time(math.MinInt64) // when the one before ended
	for {
		first, surely := clock.Time(math.MaxInt64), clock.Time(math.MaxInt64) // when this one begins
		for _, p := range all {
			if p.ended >= earliest {
				first = min(first, p.begun)
			}
			if p.begun >= latest {
				surely = min(surely, p.ended)
			}
		}
		if surely == math.MaxInt64 {
			return ""
		}
		first = max(first, earliest)
		n := int64(0)
		for _, p := range all {
			if p.begun >= latest && p.ended < first.Add(long) {
				n += p.n
			}
		}
		if n > l.Tokens {
			return fmt.Sprintf("%s: %d passed in the window from %v", l, n, first)
		}
		earliest, latest = first.Add(long), surely.Add(long)
	}
}

// mixes are policies whose history is checked. fill is the limit that lets least pass.
var mixes = []struct {
	limits []string
	fill   int
}{
	{[]string{"40/10ms aligned"}, 0},
	{[]string{"40/10ms aligned skew=1ms"}, 0},
	{[]string{"40/10ms from-first"}, 0},
	{[]string{"40/10ms from-first skew=1ms"}, 0},
	{[]string{"40/10ms rolling"}, 0},
	{[]string{"40/10ms rolling skew=1ms"}, 0},
	{[]string{"7/1ms rolling"}, 0},
	{[]string{"2000/10ms rolling"}, 0},
	{[]string{"40/10ms name=b", "300/100ms rolling name=r"}, 1},
	{[]string{"40/10ms aligned name=a", "50/10ms rolling name=r"}, 0},
	{[]string{"60/10ms from-first name=f", "40/10ms rolling name=r", "70/10ms aligned name=a"}, 1},
	{[]string{"500/100ms burst=50 name=b", "100/10ms aligned name=a", "600/100ms from-first name=f", "90/10ms rolling name=r", "700/100ms aligned skew=1ms name=s", "400/100ms rolling name=t"}, 5},
}

// worth is how much of l passes in d at most, once it is used up, and how long one
// window of it really takes.
func worth(l policy.Limit, d time.Duration) float64 {
	per := l.Per
	switch l.Window {
	case policy.FromFirst:
		per += l.Skew // the next begins that much later
	case policy.Rolling:
		per += l.Skew
	}
	return float64(l.Tokens) * float64(d) / float64(per)
}

// Eight goroutines by a clock that is moved on in small steps while nobody decides:
// every time is exact, and so is what is checked.
func TestHistoryInSteps(t *testing.T) {
	for _, m := range mixes {
		t.Run(strings.Join(m.limits, ", "), func(t *testing.T) {
			set := setOf(t, m.limits...)
			g, c := gateWith(t, tickgate.Config{MaxKeys: 16, Wall: clock.NewManualWall(0)}, set)
			h := handleOf(t, g, "k")
			const step = 100 * time.Microsecond
			steps := scaled(4000, 1500)
			var held sync.RWMutex // by those who decide
			var hist admissions
			var denied, over atomic.Int64
			begin := c.Now()
			together(9, func(i int) {
				if i == 8 {
					defer over.Store(1)
					for range steps {
						for was := denied.Load(); denied.Load() < was+2; {
							runtime.Gosched()
						}
						held.Lock()
						c.Advance(step)
						held.Unlock()
					}
					return
				}
				var mine []passed
				for j := 0; over.Load() == 0; j++ {
					held.RLock()
					now := c.Now()
					if takeBy(g, h, now, i+j) {
						mine = append(mine, passed{now, now, 1})
					} else {
						denied.Add(1)
					}
					held.RUnlock()
					runtime.Gosched()
				}
				hist.add(mine)
			})
			for _, l := range set[0].Limits {
				require.Empty(t, hist.breach(l, 0))
			}
			came := worth(set[0].Limits[m.fill], c.Now().Sub(begin))
			require.GreaterOrEqual(t, float64(hist.total()), 0.99*came)
		})
	}
}

// takeBy takes a token by one way or another.
func takeBy(g *tickgate.Gate, h tickgate.Handle, now clock.Time, way int) bool {
	switch way % 3 {
	case 0:
		return h.AllowAt(now, 1)
	case 1:
		return h.TakeAt(now, 1).Allowed
	}
	return g.TakeAt(now, "k", endpoint, 1).Allowed
}

// The same while the clock runs on under those who decide.
func TestHistoryWhileTheClockRuns(t *testing.T) {
	for _, m := range mixes {
		t.Run(strings.Join(m.limits, ", "), func(t *testing.T) {
			set := setOf(t, m.limits...)
			g, c := gateWith(t, tickgate.Config{MaxKeys: 16, Wall: clock.NewManualWall(0)}, set)
			h := handleOf(t, g, "k")
			var hist admissions
			var denied, over atomic.Int64
			steps := scaled(4000, 1500)
			begin := c.Now()
			together(9, func(i int) {
				if i == 8 {
					defer over.Store(1)
					for range steps {
						c.Advance(100 * time.Microsecond)
						// A few may be under way since before.
						for was := denied.Load(); denied.Load() < was+10; {
							runtime.Gosched()
						}
					}
					return
				}
				var mine []passed
				for j := 0; over.Load() == 0; j++ {
					now := c.Now()
					if takeBy(g, h, now, i+j) {
						mine = append(mine, passed{now, c.Now(), 1})
					} else {
						denied.Add(1)
						runtime.Gosched()
					}
				}
				hist.add(mine)
			})
			for _, l := range set[0].Limits {
				require.Empty(t, hist.breach(l, 0))
			}
			came := worth(set[0].Limits[m.fill], c.Now().Sub(begin))
			require.GreaterOrEqual(t, float64(hist.total()), 0.99*came)
		})
	}
}

// By the real clock, for 300 ms in all.
func TestHistoryRealClock(t *testing.T) {
	for _, limits := range [][]string{
		{"500/20ms aligned"}, {"500/20ms from-first"}, {"500/20ms rolling"}, {"500/20ms rolling", "900/30ms aligned", "1000/30ms from-first", "800/20ms"},
	} {
		t.Run(strings.Join(limits, ", "), func(t *testing.T) {
			set := setOf(t, limits...)
			c := clock.Default()
			g, err := tickgate.New(tickgate.Config{Policies: set, Clock: c, Wall: clock.NewManualWall(0)})
			require.NoError(t, err)
			h := handleOf(t, g, "k")
			var hist admissions
			end := c.Now().Add(75 * time.Millisecond)
			together(8, func(i int) {
				var mine []passed
				for j := 0; c.Now() < end; j++ {
					now := c.Now()
					if takeBy(g, h, now, i+j) {
						mine = append(mine, passed{now, c.Now(), 1})
					}
				}
				hist.add(mine)
			})
			for _, l := range set[0].Limits {
				require.Empty(t, hist.breach(l, 0))
			}
			// How many of 3.75 times 500 is a matter of when they get to run;
			// TestHistoryWhileTheClockRuns says how many must be admitted.
			require.Positive(t, hist.total())
		})
	}
}
