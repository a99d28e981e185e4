package idem

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// What others see of a call that is stopped between two of its steps.

// claimFor runs a Fresh of id up to where its slot is written.
func (w *Window) claimFor(t *testing.T, id string, now clock.Time) (probe, place, uint32) {
	k, ok := w.probe(id)
	require.True(t, ok)
	_, ok = w.reserve()
	require.True(t, ok)
	own, dist := w.claim(k, now)
	require.True(t, own.ok())
	return k, own, dist
}

// announceFor goes on up to where it is Fresh.
func (w *Window) announceFor(t *testing.T, k probe, own place, dist uint32) {
	top := &w.line(k.home).header
	h := header(top.Load())
	require.True(t, top.CompareAndSwap(uint64(h), uint64(h.announce(dist, own.s, own.m))))
}

func TestWindowStoppedBeforeAnnouncing(t *testing.T) {
	w, _ := atNow(t, time.Hour, 10)
	w.mask = 0
	_, own, _ := w.claimFor(t, "a", 0)
	require.False(t, w.Release("a"), "nobody sees it")
	require.Equal(t, Fresh, w.Add("b"), "and nobody waits for it")
	require.Equal(t, Fresh, w.Add("a"))
	w.abandon(own)
	w.sound(t)
	require.Equal(t, 2, w.Len())
}

func TestWindowStoppedAfterAnnouncing(t *testing.T) {
	for _, next := range []string{"add", "add another", "release"} {
		w, _ := atNow(t, time.Hour, 10)
		w.mask = 0
		require.Equal(t, Fresh, w.Add("z"))
		k, own, dist := w.claimFor(t, "a", 0)
		w.announceFor(t, k, own, dist)
		switch next {
		case "add":
			require.Equal(t, Duplicate, w.Add("a"))
		case "add another":
			require.Equal(t, Fresh, w.Add("b"))
			require.Equal(t, Duplicate, w.Add("a"))
		case "release":
			require.True(t, w.Release("a"))
			require.Equal(t, Fresh, w.Add("a"), "it was released though its insert is not done")
		}
		// The one that was stopped goes on.
		w.meta(own.i, own.s).CompareAndSwap(uint64(own.m), uint64(own.m.published()))
		w.uncount(privateOne)
		w.sound(t)
	}
}

// A helper that slept since an earlier life of the slot leaves a later one alone.
func TestWindowLateHelper(t *testing.T) {
	w, _ := atNow(t, time.Hour, 10)
	w.mask = 0
	require.Equal(t, Fresh, w.Add("a"))
	k, _ := w.probe("a")
	stale := header(w.line(k.home).header.Load())
	require.True(t, w.Release("a"))
	_, own, _ := w.claimFor(t, "b", 0)
	require.Equal(t, stale.slot(), own.s, "the same slot, or this shows nothing")
	w.help(k.home, stale)
	require.Equal(t, private, meta(w.meta(own.i, own.s).Load()).state())
}

// A remover that slept since an earlier life of the slot removes nothing.
func TestWindowLateRemover(t *testing.T) {
	w, _ := atNow(t, time.Hour, 10)
	w.mask = 0
	require.Equal(t, Fresh, w.Add("a"))
	k, _ := w.probe("a")
	p := w.find(k)
	require.True(t, p.ok())
	require.True(t, w.Release("a"))
	require.Equal(t, Fresh, w.Add("a"))
	require.False(t, w.remove(p))
	require.Equal(t, Duplicate, w.Add("a"))
}

// A reader that saw a slot in an earlier life takes nothing of a later one for it.
func TestWindowLateReader(t *testing.T) {
	w, _ := atNow(t, time.Hour, 10)
	w.mask = 0
	require.Equal(t, Fresh, w.AddAt(1, "a"))
	k, _ := w.probe("a")
	p := w.find(k)
	at, ok := w.look(p.i, p.s, p.m, "a")
	require.True(t, ok)
	require.EqualValues(t, 1, at)
	_, ok = w.look(p.i, p.s, p.m, "b")
	require.False(t, ok)
	require.True(t, w.Release("a"))
	require.Equal(t, Fresh, w.AddAt(2, "a"))
	require.Equal(t, p.s, w.find(k).s, "the same slot, or this shows nothing")
	_, ok = w.look(p.i, p.s, p.m, "a")
	require.False(t, ok)
}

// An insert that searched before another one of its id was announced does not get
// its own announced.
func TestWindowLateAnnouncement(t *testing.T) {
	w, _ := atNow(t, time.Hour, 10)
	k, _ := w.probe("a")
	top := &w.line(k.home).header
	h := header(top.Load())
	require.False(t, w.search(k, h).ok())
	require.Equal(t, Fresh, w.Add("a"))
	require.True(t, w.Release("a"))
	require.Equal(t, Fresh, w.Add("a"), "even where the same id took the same slot again")
	_, own, dist := w.claimFor(t, "a", 0)
	require.False(t, top.CompareAndSwap(uint64(h), uint64(h.announce(dist, own.s, own.m))))
	h = header(top.Load())
	require.True(t, w.search(k, h).ok())
	w.abandon(own)
	w.sound(t)
}

// The last room is taken by a call that is not done: others wait for it, not for
// ever, and then say Full.
func TestWindowLastRoomPromised(t *testing.T) {
	w, _ := atNow(t, time.Hour, 1)
	k, own, dist := w.claimFor(t, "a", 0)
	require.Equal(t, Full, w.Add("a"))
	w.announceFor(t, k, own, dist)
	require.Equal(t, Duplicate, w.Add("a"), "announced, it counts")
}

// Room that came while a call looked for some is not overlooked, and a bound that
// is not verified is not believed.
func TestWindowRoomCameMeanwhile(t *testing.T) {
	w, _ := atNow(t, 100, 2)
	require.Equal(t, Fresh, w.AddAt(1000, "a"))
	require.Equal(t, Fresh, w.AddAt(1050, "b"))
	g, ok := w.reserve()
	require.False(t, ok)
	require.False(t, w.makeRoom(g, 1060), "none, by a pass")
	require.False(t, w.makeRoom(g, 1060), "none, by its bound")
	require.True(t, w.ReleaseAt(1060, "a"))
	require.True(t, w.makeRoom(g, 1060), "some, in spite of the bound")
	w.hint.Store(math.MinInt64)
	require.True(t, w.makeRoom(g, 1060), "some, in spite of the pass")

	require.Equal(t, Fresh, w.AddAt(1060, "c"))
	w.hint.Store(1061)
	require.Equal(t, Fresh, w.AddAt(1155, "d"), "b has expired")
}

// A pass that an insert went behind the back of does not set its bound.
func TestWindowPassOvertaken(t *testing.T) {
	w, _ := atNow(t, 100, 3)
	for i := range 3 {
		require.Equal(t, Fresh, w.AddAt(1000, orderID(i)))
	}
	g, ok := w.reserve()
	require.False(t, ok)
	old := w.hint.Load()
	// The pass has found 1000 when an id goes and an older one comes.
	require.True(t, w.ReleaseAt(1000, orderID(0)))
	require.Equal(t, Fresh, w.AddAt(950, "old"))
	w.verify(old, 1000, g)
	require.Equal(t, int64(math.MinInt64), w.hint.Load())

	// And an insert that reserves after the pass has looked takes the bound back
	// before it is verified.
	g, ok = w.reserve()
	require.False(t, ok)
	require.True(t, w.hint.CompareAndSwap(math.MinInt64, 950|1))
	w.lowerHint(940)
	require.False(t, w.hint.CompareAndSwap(950|1, 950))
	require.False(t, w.makeRoom(g, 1000))
	require.EqualValues(t, 950, w.hint.Load())
}
