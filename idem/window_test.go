package idem

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// atNow makes a window on a clock that stands at 0.
func atNow(t testing.TB, ttl time.Duration, capacity int) (*Window, *clock.Manual) {
	c := clock.NewManual(0)
	w, err := NewWindow(WindowConfig{Clock: c, TTL: ttl, Capacity: capacity})
	require.NoError(t, err)
	return w, c
}

func orderID(n int) string { return fmt.Sprintf("ORD-20240607-%07d", n) }

// sound asserts what must hold of a window at rest, and returns the ids it holds.
func (w *Window) sound(t testing.TB) map[string]clock.Time {
	held := map[string]clock.Time{}
	for i := range w.n {
		for s := range uint32(lineSlots) {
			m := meta(w.meta(i, s).Load())
			switch {
			case m&descMask == 0: // free
				continue
			case m.state() != live:
				t.Fatalf("line %d slot %d was left in state %d", i, s, m.state())
			}
			id := make([]byte, m&descMask>>lengthShift&127)
			for j := range id {
				id[j] = byte(w.words(i, s)[j/8].Load() >> (j % 8 * 8))
			}
			if _, twice := held[string(id)]; twice {
				t.Fatalf("%q is held twice", id)
			}
			held[string(id)] = clock.Time(w.line(i).times[s].Load())
		}
	}
	g := gauge(w.gauge.Load())
	require.Zero(t, g.private())
	require.Equal(t, len(held), w.Len())
	require.LessOrEqual(t, w.Len(), w.Cap())
	if hint := w.hint.Load(); hint&1 == 0 {
		for id, at := range held {
			if int64(at) < hint {
				t.Fatalf("%q of %d is older than the hint %d", id, at, hint)
			}
		}
	}
	return held
}

func TestWindowVerdicts(t *testing.T) {
	w, c := atNow(t, time.Hour, 10)
	require.Equal(t, Fresh, w.Add("a"))
	require.Equal(t, Duplicate, w.Add("a"))
	require.Equal(t, Fresh, w.Add("A"))
	require.Equal(t, Fresh, w.Add("a\x00"), "padding is no part of an id")
	require.Equal(t, 3, w.Len())
	require.Equal(t, 10, w.Cap())
	require.Equal(t, time.Hour, w.TTL())

	c.Set(clock.Time(time.Hour) - 1)
	require.Equal(t, Duplicate, w.Add("a"))
	c.Advance(1)
	require.Equal(t, Fresh, w.Add("a"), "the TTL ends exactly; a duplicate does not prolong it")
	require.Equal(t, Duplicate, w.Add("a"))

	require.Equal(t, "fresh duplicate full bad-id invalid",
		fmt.Sprint(Fresh, " ", Duplicate, " ", Full, " ", BadID, " ", Verdict(0)))
}

func TestWindowBadID(t *testing.T) {
	w, _ := atNow(t, time.Hour, 10)
	for _, id := range []string{"", strings.Repeat("x", MaxID+1), strings.Repeat("x", 10_000)} {
		require.Equal(t, BadID, w.Add(id))
		require.Equal(t, BadID, w.Add(id))
		require.False(t, w.Release(id))
	}
	require.Zero(t, w.Len())
}

// Every length, and ids that differ in any one byte only.
func TestWindowComparesAllOfAnID(t *testing.T) {
	w, _ := atNow(t, time.Hour, 5000)
	w.mask = 0 // all in one home with one tag: only the bytes tell them apart
	for n := 1; n <= MaxID; n++ {
		base := []byte(strings.Repeat("x", n))
		require.Equal(t, Fresh, w.Add(string(base)))
		for i := range base {
			base[i] = 'y'
			require.Equal(t, Fresh, w.Add(string(base)), "%s", base)
			require.Equal(t, Duplicate, w.Add(string(base)))
			base[i] = 'x'
		}
		require.Equal(t, Duplicate, w.Add(string(base)))
		if n%20 == 0 {
			held := w.sound(t)
			for id := range held {
				require.True(t, w.Release(id))
			}
		}
	}
}

func TestWindowRelease(t *testing.T) {
	w, c := atNow(t, time.Hour, 2)
	require.False(t, w.Release("a"))
	require.Equal(t, Fresh, w.Add("a"))
	require.Equal(t, Fresh, w.Add("b"))
	require.Equal(t, Full, w.Add("c"))
	require.True(t, w.Release("a"))
	require.False(t, w.Release("a"))
	require.Equal(t, Fresh, w.Add("c"))
	require.Equal(t, Full, w.Add("a"))
	require.Equal(t, Duplicate, w.Add("b"))
	c.Advance(time.Hour)
	require.False(t, w.Release("b"), "it had expired")
	require.Equal(t, 1, w.Len(), "and is gone")
	require.True(t, w.ReleaseAt(0, "c"), "at the caller's time it had not")
}

// Exactly the capacity fits, whatever it is, and not one is forgotten.
func TestWindowCapacityIsExact(t *testing.T) {
	for _, capacity := range []int{1, 2, 3, 6, 7, 8, 100, 1000, 20_000} {
		w, c := atNow(t, time.Hour, capacity)
		for round := range 4 {
			for i := range capacity {
				require.Equal(t, Fresh, w.Add(orderID(i)), "capacity %d, id %d", capacity, i)
			}
			for i := range min(capacity, 100) {
				require.Equal(t, Full, w.Add(orderID(capacity+i)), "capacity %d", capacity)
			}
			for i := range capacity {
				require.Equal(t, Duplicate, w.Add(orderID(i)))
			}
			w.sound(t)
			if round%2 == 0 {
				c.Advance(time.Hour) // all expire, and other ids find room for all
				for i := range capacity {
					require.Equal(t, Fresh, w.Add(orderID(1_000_000+i)), "capacity %d, id %d", capacity, i)
				}
				require.Equal(t, Full, w.Add(orderID(0)))
			}
			for id := range w.sound(t) {
				require.True(t, w.Release(id))
			}
			require.Zero(t, w.Len())
		}
	}
}

// When the window is full and one id has expired, there is room for one.
func TestWindowFindsTheOneExpired(t *testing.T) {
	const capacity = 3000
	w, _ := atNow(t, time.Hour, capacity)
	for i := range capacity {
		require.Equal(t, Fresh, w.AddAt(clock.Time(2*i), orderID(i)))
	}
	for i := range 500 {
		end := clock.Time(2 * i).Add(time.Hour)
		require.Equal(t, Full, w.AddAt(end-1, "early"))
		require.Equal(t, clock.Time(2*i), clock.Time(w.hint.Load()))
		require.Equal(t, Fresh, w.AddAt(end, orderID(capacity+i)))
		require.Equal(t, Full, w.AddAt(end, "late"))
	}
	w.sound(t)
}

// A window said to be full with a bound of its times; then an older id came in.
func TestWindowOlderIDTakesTheHintBack(t *testing.T) {
	w, _ := atNow(t, 100, 2)
	require.Equal(t, Fresh, w.AddAt(1000, "a"))
	require.Equal(t, Fresh, w.AddAt(1000, "b"))
	require.Equal(t, Full, w.AddAt(1050, "c"))
	require.EqualValues(t, 1000, w.hint.Load())
	require.True(t, w.ReleaseAt(1050, "b"))
	require.Equal(t, Fresh, w.AddAt(960, "old"))
	require.Equal(t, Full, w.AddAt(1059, "c"))
	require.Equal(t, Fresh, w.AddAt(1060, "c"), "the old one expires first")
}

// Sweeping as others come keeps a window that is large enough from filling up.
func TestWindowSweepsInPassing(t *testing.T) {
	const capacity, atOnce = 10_000, 6_000
	w, _ := atNow(t, atOnce, capacity)
	for i := range 10 * capacity {
		require.Equal(t, Fresh, w.AddAt(clock.Time(i), orderID(i)))
	}
	require.Zero(t, w.hand.Load(), "nobody had to look for room")
	require.Less(t, w.Len(), capacity)
}

func TestWindowExtremeTimes(t *testing.T) {
	w, _ := atNow(t, time.Hour, 4)
	for _, now := range []clock.Time{math.MinInt64, -1, 0, math.MaxInt64 - 1, math.MaxInt64} {
		require.Equal(t, Fresh, w.AddAt(now, "a"), "at %d", now)
		require.Equal(t, Duplicate, w.AddAt(now, "a"), "at %d", now)
		require.True(t, w.ReleaseAt(now, "a"))
	}
	// An earlier time finds it live, and the latest too once it was added there.
	require.Equal(t, Fresh, w.AddAt(0, "b"))
	require.Equal(t, Duplicate, w.AddAt(math.MinInt64, "b"))
	require.Equal(t, Fresh, w.AddAt(math.MaxInt64, "b"))
	require.Equal(t, Duplicate, w.AddAt(math.MaxInt64, "b"))

	forever, _ := atNow(t, math.MaxInt64, 1)
	require.Equal(t, Fresh, forever.AddAt(0, "a"))
	require.Equal(t, Full, forever.AddAt(math.MaxInt64-1, "b"))
}

// All ids in one home: it overflows from line to line, and says Full when no more
// lines are within reach.
func TestWindowOneHome(t *testing.T) {
	const most = maxReach * lineSlots
	w, _ := atNow(t, time.Hour, 2*most)
	w.mask = 0
	for i := range most {
		require.Equal(t, Fresh, w.Add(orderID(i)))
	}
	require.Equal(t, Full, w.Add(orderID(most)))
	require.Equal(t, most, w.Len())
	for i := range most {
		require.Equal(t, Duplicate, w.Add(orderID(i)))
	}
	require.True(t, w.Release(orderID(100)))
	require.Equal(t, Fresh, w.Add(orderID(most)))
	w.sound(t)
}

func TestWindowConfig(t *testing.T) {
	w, err := NewWindow(WindowConfig{})
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour, w.TTL())
	require.Equal(t, DefaultCapacity, w.Cap())
	require.Equal(t, Fresh, w.Add("a"))
	require.True(t, w.Release("a"))

	_, err = NewWindow(WindowConfig{TTL: -1, Capacity: MaxCapacity + 1})
	require.ErrorContains(t, err, "idem: TTL = -1ns: must be positive, or 0 for 24h0m0s")
	require.ErrorContains(t, err, "idem: Capacity = 16777217: must be 1 to 16777216, or 0 for 65536")
	require.ErrorAs(t, err, new(*ConfigError))
	_, err = NewWindow(WindowConfig{Capacity: -1})
	require.ErrorContains(t, err, "Capacity = -1")
}

func noPages(uintptr) ([]byte, error) { return nil, errors.ErrUnsupported }

func TestWindowOnHeap(t *testing.T) {
	w, err := newWindow(WindowConfig{Capacity: 1000}, noPages)
	require.NoError(t, err)
	require.False(t, w.pages.offHeap)
	require.Zero(t, uintptr(w.lines)%lineSize)
	for i := range 1000 {
		require.Equal(t, Fresh, w.AddAt(0, orderID(i)))
	}
	require.Equal(t, Full, w.AddAt(0, "x"))
	w.sound(t)
}

func TestWindowNothingAllocates(t *testing.T) {
	w, _ := atNow(t, 1000, 500)
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = strings.Repeat("i", i%MaxID+1) + fmt.Sprint(i)
		ids[i] = ids[i][max(0, len(ids[i])-MaxID):]
	}
	now, verdicts := clock.Time(0), [BadID + 1]int{}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for i, id := range ids {
			verdicts[w.AddAt(now, id)]++
			verdicts[w.AddAt(now, id)]++
			if i%7 == 0 {
				w.ReleaseAt(now, id)
			}
			now++
		}
	}))
	require.NotZero(t, verdicts[Fresh])
	require.NotZero(t, verdicts[Duplicate])
	require.NotZero(t, verdicts[Full])
}
