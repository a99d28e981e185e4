package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// machine is a counter and a reference clock with a refiner between them.
type machine struct {
	c      uint64
	ref    float64 // ns
	hz     float64 // ticks per second of real time
	refPPM float64 // how much faster than real time the reference runs
	width  time.Duration

	r    *refiner
	seg  *segment
	wait time.Duration
}

// newMachine calibrates with an error of ppm.
func newMachine(ppm float64) *machine {
	m := &machine{c: 1 << 40, ref: 5e9, hz: 2.3e9, width: 50}
	m.r, m.seg = newRefiner(1e9/m.hz*(1+ppm*1e-6), m.sample())
	m.wait = firstSpan - m.r.margin()
	return m
}

func (m *machine) sample() sample { return sample{c: m.c, t: Time(m.ref), width: m.width} }

func (m *machine) pass(d time.Duration) {
	m.c += uint64(d.Seconds() * m.hz)
	m.ref += float64(d) * (1 + m.refPPM*1e-6)
}

func (m *machine) step() {
	var next *segment
	if next, m.wait = m.r.step(m.seg, m.sample()); next != nil {
		m.seg = next
	}
}

// run passes time in refinements and returns the largest offset seen.
func (m *machine) run(d time.Duration) (worst time.Duration) {
	for d > 0 {
		m.pass(m.wait)
		d -= m.wait
		worst = max(worst, abs(m.offset()))
		m.step()
	}
	return worst
}

func (m *machine) offset() time.Duration { return m.seg.at(m.c).Sub(Time(m.ref)) - m.r.shift }

func TestRefineConverges(t *testing.T) {
	for _, ppm := range []float64{0, 3, -3, 50, -50, 400, -400, 700, -700} {
		m := newMachine(ppm)
		worst := m.run(5 * time.Second)
		require.Less(t, worst, 500*time.Microsecond, "calibrated %v ppm wrong", ppm)
		require.Less(t, m.run(time.Minute), 200*time.Nanosecond, "calibrated %v ppm wrong", ppm)
		require.Equal(t, lastSpan, m.r.span)
		require.InDelta(t, 2.3e9, 1e9/m.r.rate, 2.3e9*1e-8)
		require.Zero(t, m.r.jumps)
	}
}

func TestRefineFollowsReference(t *testing.T) {
	for _, ppm := range []float64{1, -1, 100, -100, 300, -300} {
		m := newMachine(2)
		m.run(2 * time.Minute)
		m.refPPM = ppm
		worst := m.run(3 * time.Minute)
		require.Less(t, worst, 12*time.Millisecond, "reference changed by %v ppm", ppm)
		require.Less(t, m.run(2*time.Minute), time.Microsecond, "reference changed by %v ppm", ppm)
		require.Zero(t, m.r.jumps)
	}
}

func TestRefineSlewIsBounded(t *testing.T) {
	m := newMachine(0)
	m.run(time.Minute)
	m.ref += 5e6 // 5 ms at once, below a jump
	for range 200 {
		m.pass(m.wait)
		m.step()
		rate := float64(m.seg.rate) / float64(scaled(m.r.rate))
		require.InDelta(t, 1, rate, maxSlew*1.0001)
	}
	require.Zero(t, m.r.jumps)
	require.Less(t, m.run(2*time.Minute), time.Microsecond, "5 ms are caught up")
}

func TestRefineAfterStop(t *testing.T) {
	// While the process is stopped the tail runs 2000 ppm slow. What a short stop costs is caught up, what a long one
	// costs is kept.
	for _, stop := range []time.Duration{15 * time.Second, time.Hour} {
		m := newMachine(1)
		m.run(time.Minute)
		m.pass(m.wait + m.r.margin() + stop)
		lost := -stop / 500
		require.InDelta(t, lost.Seconds(), m.offset().Seconds(), lost.Abs().Seconds()/50)
		m.step()
		m.run(4 * time.Minute)
		require.Less(t, m.run(time.Minute), time.Microsecond)
		require.Equal(t, stop == time.Hour, m.r.jumps == 1)
		if m.r.jumps == 1 {
			require.InDelta(t, lost.Seconds(), m.r.shift.Seconds(), lost.Abs().Seconds()/50)
		}
	}
}

func TestRefineTakesJumps(t *testing.T) {
	jumps := []struct {
		name string
		do   func(m *machine)
	}{
		{"counter went on in a suspension", func(m *machine) { m.c += uint64(3600 * m.hz) }},
		{"counter stood still", func(m *machine) { m.ref += 3600e9 }},
		{"counter set back", func(m *machine) { m.c = 12345 }},
	}
	for _, j := range jumps {
		t.Run(j.name, func(t *testing.T) {
			m := newMachine(1)
			m.run(time.Minute)
			before := m.seg.at(m.c)
			j.do(m)
			m.pass(m.wait)
			m.step()
			require.Equal(t, uint64(1), m.r.jumps)
			after := m.seg.at(m.c)
			require.GreaterOrEqual(t, after, before, "the clock goes on where it was")
			m.run(30 * time.Second)
			require.InDelta(t, 30, m.seg.at(m.c).Sub(after).Seconds(), 9, "and at the right rate")
			require.Less(t, m.run(time.Minute), time.Microsecond)
			require.Equal(t, uint64(1), m.r.jumps)
		})
	}
}

func TestRefineDistrustsWideSamples(t *testing.T) {
	m := newMachine(1)
	m.run(10 * time.Second)
	m.pass(m.wait)
	m.width = time.Millisecond
	seg := m.seg
	for range maxRetries {
		m.step()
		require.Same(t, seg, m.seg)
		require.Equal(t, retryAfter, m.wait)
		m.pass(m.wait)
	}
	m.step()
	require.NotSame(t, seg, m.seg, "a machine that has no better ones is served all the same")
}

func TestRefineWaitsForStart(t *testing.T) {
	m := newMachine(0)
	m.pass(m.wait)
	m.step()
	seg := m.seg
	require.Positive(t, int64(seg.c0-m.c))
	m.pass(time.Microsecond)
	m.step()
	require.Same(t, seg, m.seg)
	m.pass(m.wait)
	require.Positive(t, int64(m.c-seg.c0))
}
