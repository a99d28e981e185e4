package clock

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestScale(t *testing.T) {
	tests := []struct {
		name      string
		ticks     uint64
		nsPerTick float64
		want      Time
	}{
		{"zero", 0, 0.5, 0},
		{"half", 7, 0.5, 3},
		{"1 MHz", 12, 1000, 12_000},
		{"24 MHz hour", 24e6 * 3600, 1e9 / 24e6, 3600e9 - 1}, // 1/24 is rounded down
		{"ten years at 2 GHz", 2e9 * 315_360_000, 0.5, 315_360_000e9},
		{"product above 64 bits", 1 << 62, 0.25, 1 << 60},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, scale(tt.ticks, scaled(tt.nsPerTick)))
		})
	}
}

func TestSegmentEdges(t *testing.T) {
	half, third := scaled(0.5), scaled(0.25)
	first := newSegment(nil, 1000, 5000, half, 100, third)
	require.Equal(t, Time(5000), first.at(0), "long before the start")
	require.Equal(t, Time(5000), first.at(999), "one tick before the start")
	require.Equal(t, Time(5000), first.at(1000))
	require.Equal(t, Time(5049), first.at(1099), "last of the line")
	require.Equal(t, Time(5050), first.at(1100), "first of the tail")
	require.Equal(t, Time(5060), first.at(1140), "in the tail")

	second := newSegment(first, 1100, 5050, scaled(1), 100, half)
	for _, c := range []uint64{0, 999, 1000, 1001, 1050, 1099, 1100} {
		require.Equal(t, first.at(c), second.at(c), "before its start a segment is the one before: %d", c)
	}
	require.Equal(t, Time(5090), second.at(1140))

	thirdSeg := newSegment(second, 1200, second.t1, half, 100, third)
	require.Equal(t, second.at(1150), thirdSeg.at(1150))
	require.Equal(t, second.t0, thirdSeg.at(1050), "two segments back is clamped")
}

func TestSegmentAcrossCounterWrap(t *testing.T) {
	s := newSegment(nil, math.MaxUint64-9, 100, scaled(1), 1000, scaled(1))
	require.Equal(t, Time(100), s.at(math.MaxUint64-10))
	require.Equal(t, Time(110), s.at(0))
	require.Equal(t, Time(160), s.at(50))
	require.Equal(t, Time(1200), s.at(1090), "the tail beyond the wrap")
}

func TestSegmentEndless(t *testing.T) {
	s := newSegment(nil, 0, 0, scaled(0.5), 100, scaled(0.25))
	e := s.endless(scaled(0.5))
	require.Equal(t, s.at(50), e.at(50))
	require.Equal(t, Time(500), e.at(1000))
	require.Equal(t, s.at(1000), s.endless(scaled(0.125)).at(1000), "never slower than it was")
}

// reading is one call of Now: the counter is read at start, the segment loaded at finish.
type reading struct {
	start, finish uint64
	got           Time
}

// slewed runs a refiner over a made-up machine and returns the segments with the counter at which each was
// published. chaos adds late timers, stalls before publishing, jumps of the reference and wide samples.
func slewed(rng *rand.Rand, steps int, chaos bool) (segs []*segment, published []uint64) {
	nsPerTick := math.Exp(rng.Float64()*math.Log(1e4)) * 0.1 // 1 MHz to 10 GHz
	c := rng.Uint64N(1 << 40)
	ref := float64(rng.Int64N(1e12))
	rate := nsPerTick * (1 + (rng.Float64()-0.5)*1e-3)
	move := func(ns float64) {
		if ns > 0 {
			c += uint64(ns / nsPerTick)
			ref += ns / nsPerTick * rate
		}
	}
	take := func() sample { return sample{c: c, t: Time(ref), width: 100} }

	r, seg := newRefiner(nsPerTick, take())
	segs, published = append(segs, seg), append(published, c)
	wait := firstSpan - r.margin()
	for range steps {
		move(float64(wait))
		if rng.IntN(4) == 0 {
			rate = nsPerTick * (1 + (rng.Float64()-0.5)*2e-3)
		}
		stall := 0.0
		if chaos {
			switch rng.IntN(8) {
			case 0:
				move(rng.ExpFloat64() * float64(time.Second)) // the timer is late
			case 1:
				ref += rng.NormFloat64() * float64(50*time.Millisecond)
			case 2:
				ref += rng.NormFloat64() * float64(time.Microsecond)
			case 3:
				stall = rng.ExpFloat64() * float64(100*time.Millisecond)
			case 4:
				move(-float64(wait) / 2 * rng.Float64())
			}
		}
		s := take()
		if chaos && rng.IntN(8) == 0 {
			s.width = time.Duration(rng.Int64N(int64(time.Millisecond)))
		}
		var next *segment
		if next, wait = r.step(seg, s); next != nil {
			move(stall)
			seg = next
			segs, published = append(segs, seg), append(published, c)
		}
	}
	return segs, published
}

// checkSlew fails if a segment lies below the one before, or a reading below one that was over before it began.
func checkSlew(t *testing.T, rng *rand.Rand, segs []*segment, published []uint64) {
	t.Helper()
	for k := 1; k < len(segs); k++ {
		old, now := segs[k-1], segs[k]
		require.GreaterOrEqual(t, int64(now.c0-old.end()), int64(0), "segment %d starts on the line before", k)
		require.Greater(t, int64(published[k]-old.c0), int64(0), "segment %d is published before the last began", k)
		for _, edge := range []uint64{old.c0, old.end(), now.c0, now.end(), published[k]} {
			for d := range uint64(9) {
				c := edge + d - 4
				if now.at(c) < old.at(c) {
					require.Fail(t, "below the last", "segment %d at %d: %d < %d", k, c, now.at(c), old.at(c))
				}
				if now.at(c+1) < now.at(c) {
					require.Fail(t, "goes back", "segment %d at %d", k, c)
				}
			}
		}
	}

	first, last := published[0], segs[len(segs)-1].end()
	var rs []reading
	for range 40 * len(segs) {
		start := first + rng.Uint64N(last-first)
		if rng.IntN(2) == 0 { // close to where something happens
			k := rng.IntN(len(segs))
			near := []uint64{published[k], segs[k].c0, segs[k].end()}[rng.IntN(3)]
			start = max(first, near+rng.Uint64N(64)-32)
		}
		finish := start + rng.Uint64N(64)
		if rng.IntN(8) == 0 { // a reader that stalls between counter and segment
			finish = start + rng.Uint64N(last-first)
		}
		k, _ := slices.BinarySearch(published, finish+1)
		rs = append(rs, reading{start, finish, segs[k-1].at(start)})
	}
	byStart := slices.Clone(rs)
	slices.SortFunc(byStart, func(a, b reading) int { return cmp.Compare(a.start, b.start) })
	slices.SortFunc(rs, func(a, b reading) int { return cmp.Compare(a.finish, b.finish) })
	over, latest := 0, Time(math.MinInt64)
	for _, b := range byStart {
		for ; over < len(rs) && rs[over].finish <= b.start; over++ {
			latest = max(latest, rs[over].got)
		}
		if b.got < latest {
			require.Fail(t, "a reading below one that was over before", "at %d: %d < %d", b.start, b.got, latest)
		}
	}
}

func TestSlewNeverMovesBack(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		segs, published := slewed(rng, 40, seed%2 == 0)
		require.Greater(t, len(segs), 10)
		checkSlew(t, rng, segs, published)
	}
}

// TestSlewIsContinuous is the other direction: where nothing is late, a segment takes over without a gap.
func TestSlewIsContinuous(t *testing.T) {
	for seed := range uint64(30) {
		segs, published := slewed(rand.New(rand.NewPCG(seed, 2)), 40, false)
		for k := 1; k < len(segs); k++ {
			require.Equal(t, segs[k-1].end(), segs[k].c0)
			require.Equal(t, segs[k-1].t1, segs[k].t0)
			require.Greater(t, int64(segs[k].c0-published[k]), int64(0))
		}
	}
}

func FuzzSlew(f *testing.F) {
	f.Add(uint64(1), uint8(20), true)
	f.Add(uint64(2), uint8(60), false)
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8, chaos bool) {
		rng := rand.New(rand.NewPCG(seed, uint64(steps)))
		segs, published := slewed(rng, int(steps%64), chaos)
		checkSlew(t, rng, segs, published)
	})
}
