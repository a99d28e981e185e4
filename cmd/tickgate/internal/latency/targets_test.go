package latency

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/numeral"
)

// measured is a scripted path, measured in a closed loop.
func measured(t *testing.T, list ...time.Duration) Path {
	t.Helper()
	c := newStepping(30)
	p := c.costs(list...)
	p.name = handleAt
	s, err := c.meter(0, 10*time.Millisecond).measure(context.Background(), p)
	require.NoError(t, err)
	return s.describe(p)
}

// every returns n costs of usual, the last k of which are rare.
func every(n, k int, usual, rare time.Duration) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = usual
		if i >= n-k {
			out[i] = rare
		}
	}
	return out
}

// TestTheOverheadIsSubtracted: the clock takes 30 ns a reading, and no figure
// shows it.
func TestTheOverheadIsSubtracted(t *testing.T) {
	p := measured(t, every(1000, 2, 20, 90)...)
	require.EqualValues(t, 30, p.OverheadNS)
	for _, f := range p.Figures[:atP999] {
		require.EqualValues(t, 20, f.PathNS)
		require.EqualValues(t, 20, f.OwnNS)
		require.Zero(t, f.EmptyNS)
	}
	require.EqualValues(t, 90, p.Figures[atP999].PathNS)
	require.EqualValues(t, 90, p.MaxNS)
	require.Zero(t, p.EmptyMaxNS)
	require.NotEmpty(t, p.Curve)
	require.Zero(t, p.Curve[0].Quantile)
	for i := 1; i < len(p.Curve); i++ {
		require.Greater(t, p.Curve[i].Quantile, p.Curve[i-1].Quantile)
		require.GreaterOrEqual(t, p.Curve[i].PathNS, p.Curve[i-1].PathNS)
	}
}

// TestTheMachinesTailIsTakenOff: what disturbs both loops alike is not the path's.
func TestTheMachinesTailIsTakenOff(t *testing.T) {
	c := newStepping(30)
	c.loud = 301
	p := c.costs(20)
	s, err := c.meter(0, 10*time.Millisecond).measure(context.Background(), p)
	require.NoError(t, err)
	require.Equal(t, Figure{.999, 1020, 1000, 20, true}, s.describe(p).Figures[atP999])
}

func TestTailTarget(t *testing.T) {
	within := measured(t, every(1000, 2, 20, 60)...)
	beyond := measured(t, every(1000, 2, 20, 61)...)
	for name, c := range map[string]struct {
		change  func(*Path)
		of      Path
		verdict string
		says    string
	}{
		"three times":   {nil, within, Passed, "= 60 ns, p50 20 ns, 3.00 x"},
		"a ns more":     {nil, beyond, Missed, "= 61 ns, p50 20 ns, 3.05 x"},
		"loud machine":  {func(p *Path) { p.Figures[atP999] = Figure{.999, 500, 480, 20, true} }, within, Open, "p99.9 500 - empty loop 480 = 20 ns"},
		"louder path":   {func(p *Path) { p.Figures[atP999] = Figure{.999, 5290, 480, 4810, true} }, within, Missed, "240.50 x"},
		"both loud":     {func(p *Path) { p.Figures[atP999] = Figure{.999, 5280, 480, 4800, true} }, within, Open, "240.00 x"},
		"negative":      {func(p *Path) { p.Figures[atP999] = Figure{.999, 40, 50, -10, true} }, within, Passed, "= -10 ns, p50 20 ns"},
		"few calls":     {func(p *Path) { p.Figures[atP999].Backed = false }, within, Open, "p50 20 ns"},
		"coarse clock":  {func(p *Path) { p.Figures[atP50].PathNS = 0 }, within, Open, "p50 0 ns"},
		"given up":      {func(p *Path) { p.Waiting = 1 }, within, Open, ""},
		"mostly late":   {func(p *Path) { p.Late = p.Calls / 2 }, within, Open, ""},
		"a few of late": {func(p *Path) { p.Late = p.Calls / 10 }, within, Passed, ""},
	} {
		p := c.of
		p.Figures = append([]Figure(nil), c.of.Figures...)
		if c.change != nil {
			c.change(&p)
		}
		got := p.judgeTail(0)
		require.Equal(t, c.verdict, got.Verdict, name)
		require.Contains(t, got.Found, c.says, name)
		require.Equal(t, c.verdict == Open, got.Note != "", name)
	}
	require.Contains(t, beyond.judgeTail(1000).Note, "one stall of the machine", "a miss under a rate may be a stall")
}

// TestLateCallsAreCounted: every second call takes longer than the timetable
// leaves, so every other one begins late.
func TestLateCallsAreCounted(t *testing.T) {
	c := newStepping(10)
	p := c.costs(1500, 300)
	s, err := c.meter(1e6, 10*time.Millisecond).measure(context.Background(), p)
	require.NoError(t, err)
	d := s.describe(p)
	require.InEpsilon(t, d.Calls/2, d.Late, 0.01)
	require.Zero(t, d.Waiting)
	require.True(t, d.queued())
}

func TestAllocationTarget(t *testing.T) {
	require.Empty(t, judge(nil, 0))
	got := judge([]Path{{Name: gateHot}, {Name: batch, Allocs: 2}}, 0)
	require.Equal(t, []Target{{Name: "no allocation on any path", Found: "batch 2 a call", Verdict: Missed}}, got)
	require.Equal(t, Passed, judge([]Path{{Name: gateHot}}, 0)[0].Verdict)
}

func TestNotes(t *testing.T) {
	r := Report{wanted: 100, Settings: Settings{Keys: 90, MaxProcs: 1, LoadBytes: 1, Rate: 5000}, Paths: []Path{
		{Name: "a", Calls: 1000, Wrong: 3, OverheadNS: 1},
		{Name: "b", Calls: 1000, Waiting: 7, Late: 900, OverheadNS: 1},
		{Name: "c", Calls: 1000, Late: 900, OverheadNS: 1},
		{Name: "d", EmptyCalls: 5},
	}}
	require.Equal(t, []string{
		"a: 3 of 1,000 calls were not decided as they must be: do not use its figures, and report it",
		"b cannot keep up with 5,000 calls a second: measuring it was given up, and 7 calls that were waiting count with the time they had waited",
		"c: 900 of 1,000 calls were due before the last one was done: at 5,000 calls a second its times are those of a queue",
		"d: the clock moves in steps longer than a reading of it; figures are no finer than such a step",
		"GOMAXPROCS is 1: the load and the collector take turns with the calls, and the figures are those of the scheduler",
		"the gate holds 90 keys, not the 100 that were put in",
	}, r.notes())
	r.Paths, r.wanted, r.Settings.MaxProcs = nil, 0, 2
	require.Equal(t, []string{}, r.notes())
}

// TestTextSaysHow: what is chosen for a run is in its head.
func TestTextSaysHow(t *testing.T) {
	cpu := 3
	r := Report{
		Settings:        Settings{Pinned: &cpu, GOGC: "off", MemoryLimit: "1073741824", LoadBytes: 64 << 20, Rate: 50_000, MaxProcs: 1},
		OverheadLeastNS: 28, OverheadMostNS: 31,
		Notes:   []string{"a note"},
		Targets: []Target{{"a target", "a thing", Open, "a reason"}},
		Paths:   []Path{{Name: "p", Calls: 5, Collections: 2, Figures: []Figure{{Quantile: .5}}}},
	}
	var b strings.Builder
	require.NoError(t, WriteText(&b, &r))
	for _, want := range []string{
		"cpu       unknown; 0 CPUs, GOMAXPROCS 1\n", "the thread that measures, to CPU 3\n",
		"GOGC off, GOMEMLIMIT 1024 MiB, a heap of 64 MiB collected meanwhile\n",
		"50,000 calls a second are due", "28 to 31 ns", "note    a note\n", "open    a target: a thing\n        a reason\n",
		"p, 2 collections",
	} {
		require.Contains(t, b.String(), want)
	}
}

func TestNamesOfTheAxes(t *testing.T) {
	for i, want := range []string{"1 ns", "10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s"} {
		require.Equal(t, want, timeName(i))
	}
	for i, want := range []string{"least", "p90", "p99", "p99.9", "p99.99"} {
		require.Equal(t, want, quantileName(i))
	}
	require.Equal(t, "-1,234,567", numeral.Comma(-1234567))
	require.Equal(t, "1 collection", numeral.Plural(1, "collection"))
}
