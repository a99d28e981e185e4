package venuesim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The senders here are naive, each in a way that is common; the venue must see
// through all of them, and must let their careful twins pass.

const tick = int64(time.Millisecond)

// leaky is a bucket of 10 with 10 a second: one token every 100 ms.
type leaky struct{ fullAt int64 }

func (l *leaky) take(at int64) bool {
	next := max(l.fullAt, at) + 100*tick
	if next-at > 1000*tick {
		return false
	}
	l.fullAt = next
	return true
}

func TestABucketIsCaughtByAWindow(t *testing.T) {
	for _, k := range []Kind{Aligned, FromFirst, Rolling} {
		v := one(t, &Rule{Name: "orders", Limit: Limit{Kind: k, Tokens: 10, Per: time.Second}, Ladder: Ladder{Strikes: 5, Ban: time.Minute}})
		var b leaky
		for at := int64(0); at < 10*second; at += tick {
			if b.take(at) {
				v.Receive(at, "m")
			}
		}
		require.NotEmpty(t, v.Breaches(), k)
		require.Equal(t, "orders", v.Breaches()[0].Rule)
		require.NotEmpty(t, v.Bans(), "a bucket and a window part at once, then for good")
	}
	v := one(t, &Rule{Name: "orders", Limit: Limit{Kind: TokenBucket, Tokens: 10, Per: time.Second}})
	var b leaky
	for at := int64(0); at < 10*second; at += tick {
		if b.take(at) {
			v.Receive(at, "m")
		}
	}
	require.Empty(t, v.Breaches())
	require.Equal(t, 1.0, v.Utilisation("m"))
}

// aligner counts in windows of a second on its own clock; what it sends within
// guard after a boundary it counts in the window before as well.
type aligner struct {
	guard  int64
	counts map[int64]int
}

func (a *aligner) take(at int64) bool {
	now, before := at/second, (at-a.guard)/second
	if a.counts[now] >= 10 || a.counts[before] >= 10 {
		return false
	}
	a.counts[now]++
	if before != now {
		a.counts[before]++
	}
	return true
}

// Greedy, and late in the window, where phase matters.
func alignedRun(t *testing.T, guard int64, n Network) *Venue {
	v := one(t, &Rule{Name: "orders", Limit: Limit{Kind: Aligned, Tokens: 10, Per: time.Second}})
	v.Advance(0)
	v.Horizon(60 * second)
	w, a := wire(t, v, n), &aligner{guard: guard, counts: map[int64]int{}}
	for at := second; at < 60*second; at += tick {
		// In even windows at their end, in odd ones at their start.
		if at/second%2 == 0 && at%second < 995*tick {
			continue
		}
		for a.take(at) {
			w.Send(at, "m")
		}
		w.Deliver(at)
	}
	w.Deliver(61 * second)
	return v
}

func TestDelayWithoutAGuardIsCaught(t *testing.T) {
	delay := Network{Min: 0, Max: 20 * time.Millisecond, Ordered: true, Seed: 3}
	require.NotEmpty(t, alignedRun(t, 0, delay).Breaches())

	require.Empty(t, alignedRun(t, 0, Network{}).Breaches(), "without delay it needs none")

	// A message of t counts in [t, t+20 ms] there. With a sender's clock that
	// reads 20 ms ahead that is [t−20 ms, t], which the guard covers.
	ahead := delay
	ahead.Clock.Offset = -20 * time.Millisecond
	guarded := alignedRun(t, 20*tick, ahead)
	require.Empty(t, guarded.Breaches())
	require.Greater(t, guarded.Utilisation("m"), 0.9)
}

func TestAClockThatLagsIsCaught(t *testing.T) {
	lag := Network{Clock: Clock{Offset: -3 * time.Millisecond}}
	require.NotEmpty(t, alignedRun(t, 0, lag).Breaches())
	require.Empty(t, alignedRun(t, 3*tick, lag).Breaches())

	drift := Network{Clock: Clock{Drift: -100 * time.Microsecond}} // 6 ms after the minute
	require.NotEmpty(t, alignedRun(t, 0, drift).Breaches())
	require.Empty(t, alignedRun(t, 6*tick, drift).Breaches())

	drift.Clock.Swing = 2 * time.Millisecond
	require.NotEmpty(t, alignedRun(t, 0, drift).Breaches())
	require.Empty(t, alignedRun(t, 2*tick, drift).Breaches())
}

// A rolling window that is right at the sender is wrong at the venue if delays
// differ, by as much as they differ.
func TestJitterInARollingWindowIsCaught(t *testing.T) {
	for _, stretch := range []int64{0, 20 * tick} {
		v := one(t, &Rule{Name: "orders", Limit: Limit{Kind: Rolling, Tokens: 10, Per: time.Second}})
		w := wire(t, v, Network{Min: 5 * time.Millisecond, Max: 25 * time.Millisecond, Harsh: true, Seed: 4})
		for at := int64(0); at < 60*second; at += second + stretch {
			for i := 0; i < 10; i++ {
				w.Send(at, "m")
			}
		}
		w.Deliver(100 * second)
		if stretch == 0 {
			require.NotEmpty(t, v.Breaches())
		} else {
			require.Empty(t, v.Breaches())
		}
	}
}
