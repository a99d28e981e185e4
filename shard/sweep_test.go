package shard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// oldest keeps the smallest times, whatever order they come in.
func TestRoundOldest(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 500 {
		times := make([]int64, r.IntN(600))
		for i := range times {
			times[i] = r.Int64N(1 << (1 + r.IntN(40)))
		}
		o := oldest{keep: 1 + r.IntN(100)}
		for _, at := range times {
			o.add(at)
		}
		if len(times) == 0 {
			require.Equal(t, int64(noneFull), o.youngest())
			continue
		}
		slices.Sort(times)
		require.Equal(t, times[min(o.keep, len(times))-1], o.youngest())
	}
}

// The heap has room for what the largest exact table asks it to keep.
func TestRoundOldestHasRoom(t *testing.T) {
	var o oldest
	require.GreaterOrEqual(t, len(o.times), exactSlots/perKey/10)
}

func TestHintLower(t *testing.T) {
	var h atomic.Int64
	h.Store(noKeys)
	for _, step := range []struct{ to, want int64 }{{100, 100}, {200, 100}, {100, 100}, {-5, -5}, {unknown, unknown}, {0, unknown}} {
		lower(&h, step.to)
		require.Equal(t, step.want, h.Load())
	}
}

// requireHints asserts what a hint promises: no key that may be evicted is full
// before it.
func requireHints(t *testing.T, table *Table, now clock.Time) {
	t.Helper()
	for b := range table.hints {
		h := table.hints[b].Load()
		if h == scanning {
			t.Fatalf("block %d was left scanning", b)
		}
		for i, to := table.block(uint32(b)); i < to; i++ {
			w, ok := table.candidate(i, now)
			if !ok {
				continue
			}
			if wait, _, ok := table.owes(w, now); !ok || h > int64(now)+wait {
				t.Fatalf("slot %d is full at %d, its block's hint says %d", i, int64(now)+wait, h)
			}
		}
	}
}

func TestHintsHold(t *testing.T) {
	for _, maxKeys := range []int{1, 50, 700, 3000} {
		table, p := newTable(t, Options{MaxKeys: maxKeys}, 1, 1000, 20)
		r := rand.New(rand.NewPCG(5, uint64(maxKeys)))
		now := clock.Time(0)
		var pins []Pin
		for range 200 {
			for range maxKeys/20 + 1 {
				now += clock.Time(r.Int64N(300))
				k := p.Named(fmt.Sprintf("key-%d", r.IntN(2*maxKeys)))
				table.Allow(p, &k, now, 1+r.Int64N(20))
				if r.IntN(10) == 0 {
					if pin, v := table.Pin(p, &k, now); v == Allowed {
						pins = append(pins, pin)
						pin.Charge(now, r.Int64N(100))
						pin.Credit(now, r.Int64N(100))
					}
				}
			}
			for _, pin := range pins {
				pin.Release()
			}
			pins = pins[:0]
			requireHints(t, table, now)
		}
		atRest(t, table)
	}
}

// owes tells the wait to the nanosecond, by the key's time where that is later.
func TestOwes(t *testing.T) {
	table, p := newTable(t, Options{MaxKeys: 4}, 1, 1000, 20)
	k := p.Named("k")
	require.Equal(t, Allowed, table.Allow(p, &k, 1_000_000, 3))
	w, _, ok := table.find(&k)
	require.True(t, ok)
	for _, c := range []struct {
		now, at clock.Time
		wait    int64
	}{{1_000_000, 1_000_000, 3000}, {0, 1_000_000, 3000}, {1_002_999, 1_002_999, 1}, {1_003_000, 1_003_000, 0}, {math.MaxInt64, math.MaxInt64, 0}} {
		wait, at, ok := table.owes(w, c.now)
		require.True(t, ok)
		require.Equal(t, c.wait, wait, "at %d", c.now)
		require.Equal(t, c.at, at)
	}
	table.forget(w)
	_, _, ok = table.owes(w, 0)
	require.False(t, ok, "another incarnation")
}

func TestDrop(t *testing.T) {
	table, p := newTable(t, Options{MaxKeys: 4}, 1, 1000, 20)
	k := p.Named("k")
	table.Allow(p, &k, 0, 3)
	w, _, _ := table.find(&k)
	require.False(t, table.drop(w, 2999), "dropped one that owes")
	now := w.s.load()
	require.Equal(t, live, now.state(), "reopened")
	require.NotEqual(t, w.m, now, "in another round")

	w, _, _ = table.find(&k)
	pin, v := table.Pin(p, &k, 3000)
	require.Equal(t, Allowed, v)
	require.False(t, table.drop(w, 3000), "dropped one that was pinned since")
	_, ok := table.candidate(w.i, 3000)
	require.False(t, ok)
	pin.Release()

	w, ok = table.candidate(w.i, 3000)
	require.True(t, ok)
	require.True(t, table.drop(w, 3000))
	require.Equal(t, clock.Time(3000), table.floorOf(w.i), "who brings it in again is not dated back")
	require.False(t, table.drop(w, 3000), "dropped twice")
	require.Zero(t, table.Len())
	require.Equal(t, Stats{Idle: 1, Missed: 1}, table.Stats())
	atRest(t, table)
}

// Whoever takes from a slot that is closing reopens it, so that the evictor, who
// looked before, does not get its way.
func TestSettleReopens(t *testing.T) {
	table, p := newTable(t, Options{MaxKeys: 4}, 1, 1000, 20)
	k := p.Named("k")
	table.Allow(p, &k, 0, 1)
	w, _, _ := table.find(&k)
	closed := w.m.closed()
	require.True(t, w.s.swap(w.m, closed))
	require.Equal(t, Allowed, table.Allow(p, &k, 5000, 1))
	require.Equal(t, closed.with(live), w.s.load())
	require.False(t, w.s.swap(closed, closed.emptied()), "the evictor's last swap")

	// A denial, and a pin, do so too.
	for _, meet := range []func(){
		func() { require.Equal(t, Limited, table.Allow(p, &k, 5000, 20)) },
		func() {
			pin, v := table.Pin(p, &k, 5000)
			require.Equal(t, Allowed, v)
			pin.Release()
		},
	} {
		w, _, _ = table.find(&k)
		closed = w.m.closed()
		require.True(t, w.s.swap(w.m, closed))
		meet()
		require.False(t, w.s.swap(closed, closed.emptied()))
		require.Equal(t, live, w.s.load().state())
	}
}
