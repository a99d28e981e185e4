package clock

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newTestTSC skips the test where there is no counter to use.
func newTestTSC(t *testing.T) *TSC {
	t.Helper()
	c, err := NewTSC()
	if err != nil {
		t.Skip(err)
	}
	tsc := c.(*TSC)
	t.Cleanup(func() { _ = tsc.Close() })
	return tsc
}

func TestTSCDrift(t *testing.T) {
	tests := []struct {
		name string
		over time.Duration
		ppm  float64
	}{
		{"2s", 2 * time.Second, 50},
		{"30s", 30 * time.Second, 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && tt.over > 5*time.Second {
				t.Skip("takes 30 s of real time")
			}
			c := newTestTSC(t)
			ppm := Drift(c, tt.over)
			t.Logf("%+.4f ppm over %v; %v", ppm, tt.over, c.Describe())
			require.InDelta(t, 0, ppm, tt.ppm)
			require.Positive(t, c.Describe().Refinements)
			require.Less(t, abs(c.Now().Sub(Runtime().Now())), 10*time.Millisecond)
		})
	}
}

func TestDriftMeasures(t *testing.T) {
	require.Equal(t, -1e6, Drift(NewManual(0), 0), "a clock that stands")
	require.InDelta(t, 0, Drift(Runtime(), 20*time.Millisecond), 200)
	require.InDelta(t, 10_000, Drift(skewed(10_000), 20*time.Millisecond), 500)
}

// skewed is the runtime's clock running fast by so many parts per million.
type skewed int64

func (s skewed) Now() Time {
	t := Runtime().Now()
	return t + t/1e6*Time(s)
}

func TestTSCClose(t *testing.T) {
	c := newTestTSC(t)
	before := c.Now()
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	require.GreaterOrEqual(t, c.Now(), before)
	seg := c.seg.Load()
	c.refineOnce() // as a timer that was already firing
	require.Same(t, seg, c.seg.Load(), "nothing is refined after Close")
	require.Equal(t, max(scaled(c.refine.rate), seg.tail), seg.tail)
	require.InDelta(t, 0, Drift(c, 300*time.Millisecond), 400, "goes on at its rate beyond the end of the line")
}

// TestTSCMonotone reads from many goroutines, each handing its latest reading to the others through one atomic word,
// while the refinement pulls the rate up and down as hard as it may.
func TestTSCMonotone(t *testing.T) {
	c := newTestTSC(t)
	require.NoError(t, c.Close()) // the timer would get in the way of the refinements below
	pulled := &pulledClock{base: Runtime().Now(), sum: c.Now().Add(time.Millisecond)}
	r, first := newRefiner(c.refine.rate, takeSample(ticks, pulled))
	c.seg.Store(first)

	stop := make(chan struct{})
	var wg sync.WaitGroup
	published := 0
	wg.Go(func() {
		defer close(stop)
		for published < 12 {
			time.Sleep(10 * time.Millisecond)
			next, _ := r.step(c.seg.Load(), takeSample(ticks, pulled))
			if next != nil {
				c.seg.Store(next)
				published++
				pulled.turn()
			}
		}
	})
	readUntil(t, stop, c, 4)
	wg.Wait()
	require.Zero(t, r.jumps)
}

// pulledClock runs 400 ppm fast and slow in turns.
type pulledClock struct {
	mu   sync.Mutex
	base Time // of the runtime's clock at the last turn
	sum  Time // own time there
	slow bool
}

func (p *pulledClock) Now() Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at(Runtime().Now())
}

func (p *pulledClock) at(now Time) Time {
	d := now - p.base
	if p.slow {
		return p.sum + d - d*400/1e6
	}
	return p.sum + d + d*400/1e6
}

func (p *pulledClock) turn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := Runtime().Now()
	p.base, p.sum, p.slow = now, p.at(now), !p.slow
}

// readUntil reads c in goroutines until stop is closed. Each reading must not lie before any that was handed over
// before it, nor before the goroutine's own.
func readUntil(t *testing.T, stop <-chan struct{}, c Clock, goroutines int) {
	t.Helper()
	var handed atomic.Int64
	handed.Store(int64(c.Now()))
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			last := Time(0)
			for i := 0; ; i++ {
				if i&255 == 0 {
					select {
					case <-stop:
						return
					default:
					}
				}
				was := handed.Load()
				now := c.Now()
				if now < Time(was) {
					t.Errorf("%T: %d was handed over before %d was read: %d ns back", c, was, now, was-int64(now))
					return
				}
				if now < last {
					t.Errorf("%T: %d after %d in one goroutine", c, now, last)
					return
				}
				last = now
				// A loser of this swap leaves the winner's reading, which is as good.
				handed.CompareAndSwap(was, int64(now))
			}
		})
	}
	wg.Wait()
}

func TestClocksMonotoneAcrossGoroutines(t *testing.T) {
	coarse, err := NewCoarse(MinCoarseStep)
	require.NoError(t, err)
	defer coarse.Close()
	for _, c := range []Clock{Default(), Runtime(), coarse} {
		stop := make(chan struct{})
		timer := time.AfterFunc(200*time.Millisecond, func() { close(stop) })
		readUntil(t, stop, c, 4)
		timer.Stop()
	}
}

func TestClocksMonotoneThroughChannels(t *testing.T) {
	for _, c := range []Clock{Default(), Runtime()} {
		ping, pong := make(chan Time), make(chan Time)
		go func() {
			defer close(pong)
			for was := range ping {
				now := c.Now()
				if now < was {
					t.Errorf("%T: %d received, then read %d", c, was, now)
				}
				pong <- now
			}
		}()
		for range 20_000 {
			ping <- c.Now()
			was := <-pong
			now := c.Now()
			require.GreaterOrEqual(t, now, was, "%T", c)
		}
		close(ping)
		<-pong
	}
}

// TestTSCUnorderedMonotone holds NowUnordered to what it promises: the order within a goroutine.
func TestTSCUnorderedMonotone(t *testing.T) {
	c := newTestTSC(t)
	last := c.NowUnordered()
	for range 1_000_000 {
		now := c.NowUnordered()
		if now < last {
			require.GreaterOrEqual(t, now, last)
		}
		last = now
	}
}
