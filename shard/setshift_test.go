package shard

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// Whoever stalls while it notes a shift keeps the key busy: no other incarnation of the
// slot runs by half of it.
func TestShiftIsOfOneIncarnation(t *testing.T) {
	const sec = 1_000_000_000
	table, p := newTable(t, Options{MaxKeys: 1}, 1, sec, 10)
	k := p.Named("k")
	require.Equal(t, Allowed, table.Allow(p, &k, 1000*sec, 10))
	w, _, ok := table.find(&k)
	require.True(t, ok)
	c := table.cold(w.i)
	given, ok := c.gifts.begin(1) // somebody is in setShift
	require.True(t, ok)
	require.Equal(t, Limited, table.Allow(p, &k, 940*sec, 1))
	require.NotEqual(t, w.m.inc()+1, c.shiftInc.Load(), "left to the next call")
	c.gifts.end(given, 0)
	require.Equal(t, Limited, table.Allow(p, &k, 940*sec, 1))
	require.Equal(t, w.m.inc()+1, c.shiftInc.Load())
	require.Equal(t, int64(60*sec), c.shift.Load())
	require.Equal(t, Allowed, table.Allow(p, &k, 941*sec, 1))

	gone := w
	other := p.Named("other")
	require.Equal(t, Allowed, table.Allow(p, &other, 1100*sec, 1))
	table.setShift(gone, 7)
	require.Equal(t, int64(60*sec), c.shift.Load(), "of a key that is gone")
}

// A change waits for a pin that a roll-back has for a moment, where handles have all but
// one: no word stays of an older generation.
func TestChangeWhereAllPinsAreTaken(t *testing.T) {
	const hour = 3_600_000_000_000
	table, p := newTable(t, Options{MaxKeys: 4}, 1, 1, 20)
	k := p.Named("k")
	pin, v := table.Pin(p, &k, 0)
	require.Equal(t, Allowed, v)
	for range handlePins/pinOne - 1 {
		_, v := table.Pin(p, &k, 0)
		require.Equal(t, Allowed, v)
	}
	require.Equal(t, Allowed, pin.Allow(0, 20))
	ok, _ := pin.w.pin(pinMask) // a roll-back
	require.True(t, ok)
	changed := make(chan struct{})
	go func() {
		change(t, table, p, 1, hour, 20, 0)
		close(changed)
	}()
	for range 10_000 {
		runtime.Gosched()
	}
	pin.w.unpin()
	<-changed
	change(t, table, p, 2, hour, 20, 0)
	require.Equal(t, Allowed, pin.Allow(clock.Time(30*hour), 1))
}

// The words of two incarnations of a slot differ, also for the same take at one time, so
// that a swap which stalled over a re-use fails.
func TestWordsOfIncarnationsDiffer(t *testing.T) {
	_, p := newTable(t, Options{MaxKeys: 1}, 1, 1000, 20)
	l := &p.Plan().Limits[0]
	seen := map[uint64]bool{}
	for inc := range uint64(8) {
		seen[l.First(bucket.OriginOf(inc), 5_000, 3)] = true
	}
	require.Len(t, seen, 8)
}

// A key of a blocked apikey that comes into a slot whose former key somebody is busy with,
// and stalled, is barred, and its urgent call waits for nobody.
func TestBlockedKeyWhereSomebodyIsBusy(t *testing.T) {
	table, p := newTable(t, Options{MaxKeys: 1}, 1, 1_000_000_000, 10)
	old := p.Named("old")
	require.Equal(t, Allowed, table.Allow(p, &old, 0, 1))
	w, _, ok := table.find(&old)
	require.True(t, ok)
	given, ok := table.cold(w.i).gifts.begin(1)
	require.True(t, ok)
	k := p.Named("k")
	for n := 0; ; n++ { // one that comes into the same slot
		name := fmt.Sprint("k", n)
		k = p.Named(name)
		if base, off := table.home(k.hash); base+off == w.i {
			table.Block(name, true)
			break
		}
	}
	var r Result
	require.Equal(t, Allowed, table.Take(p, &k, 100_000_000_000, &Ask{N: 1, Urgent: true}, &r))
	now, _, ok := table.find(&k)
	require.True(t, ok)
	require.Equal(t, w.i, now.i)
	table.writeBars(w, bannedBar) // it goes on
	table.cold(w.i).gifts.end(given, 0)
	require.Equal(t, Blocked, table.Allow(p, &k, 100_000_000_000, 1))
	require.Equal(t, now.m.inc(), table.cold(now.i).bars.Load()>>2)
}
