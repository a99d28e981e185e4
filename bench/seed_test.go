package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/bench/internal/load"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

const (
	seedKey      = "desk-7"
	seedEndpoint = "trading.submit_order" // 100 tokens, 100 a second
	seedCapacity = 100
)

// BenchmarkSeed holds the four benchmarks of the order-entry limiter that
// tickgate takes over from, with their counts checked:
//
//   - cache-hit: a call of a key that is in the table;
//   - refill: the same when each call finds exactly one token come back;
//   - burst-100-of-100: 100 calls at one instant on a full bucket of 100; an op
//     is the whole burst, and all must pass;
//   - flood-100-of-10000: 10,000 calls at one instant against 100 a second; an
//     op is the whole flood, and exactly 100 must pass.
//
// All but the first run on a clock that stands still until it is moved.
func BenchmarkSeed(b *testing.B) {
	b.Run("case=cache-hit/g=1", seedCacheHit)
	b.Run("case=refill/g=1", seedRefill)
	b.Run("case=burst-100-of-100/g=1", func(b *testing.B) { seedBurst(b, 100, 100) })
	b.Run("case=flood-100-of-10000/g=1", func(b *testing.B) { seedBurst(b, 10_000, 100) })
}

func seedCacheHit(b *testing.B) {
	g := newGate(b, "runtime", 0, load.Allow)
	defer closeGate(b, g)
	g.Allow(seedKey, endpointName)
	drive(b, 1, load.Allow, func(_, n int) (allowed int) {
		for range n {
			allowed += count(g.Allow(seedKey, endpointName))
		}
		return allowed
	})
}

func seedRefill(b *testing.B) {
	g, now := newSeedGate(b)
	defer closeGate(b, g)
	for range seedCapacity {
		g.Allow(seedKey, seedEndpoint)
	}
	if g.Allow(seedKey, seedEndpoint) {
		b.Fatal("a call passed on an empty bucket")
	}
	drive(b, 1, load.Allow, func(_, n int) (allowed int) {
		for range n {
			now.Advance(time.Second / 100)
			allowed += count(g.Allow(seedKey, seedEndpoint))
		}
		return allowed
	})
}

// seedBurst makes size calls at one instant on a full bucket, of which admit
// must pass, and lets the bucket fill between two bursts.
func seedBurst(b *testing.B, size, admit int) {
	g, now := newSeedGate(b)
	defer closeGate(b, g)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		passed := atOnce(g, size)
		if passed != admit {
			b.Fatalf("%d of %d calls passed, want %d", passed, size, admit)
		}
		now.Advance(time.Second)
	}
	b.StopTimer()
	b.ReportMetric(float64(admit), "admitted")
	b.ReportMetric(float64(size-admit), "denied")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/call")
}

// atOnce makes size calls at one instant and returns how many passed.
func atOnce(g *tickgate.Gate, size int) (passed int) {
	for range size {
		passed += count(g.Allow(seedKey, seedEndpoint))
	}
	return passed
}

// newSeedGate returns a gate under the default policies, and its clock.
func newSeedGate(tb testing.TB) (*tickgate.Gate, *clock.Manual) {
	tb.Helper()
	now := clock.NewManual(clock.Time(time.Hour))
	g, err := tickgate.New(tickgate.Config{Policies: policy.Default(), Clock: now})
	if err != nil {
		tb.Fatal(err)
	}
	return g, now
}

func TestSeedCounts(t *testing.T) {
	g, now := newSeedGate(t)
	defer closeGate(t, g)
	require.Equal(t, 100, atOnce(g, 100), "a burst of 100 on a full bucket")
	require.Zero(t, atOnce(g, 1))
	now.Advance(time.Second)
	require.Equal(t, 100, atOnce(g, 10_000), "a flood of 10,000")
	now.Advance(time.Second / 100)
	require.Equal(t, 1, atOnce(g, 2), "the refill of 10 ms")
}
