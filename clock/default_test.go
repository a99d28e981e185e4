package clock

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDefault(t *testing.T) {
	c := Default()
	require.Same(t, c, Default())
	s := Describe()
	switch c := c.(type) {
	case *TSC:
		require.Equal(t, "tsc", s.Name)
		require.InDelta(t, 1e9, s.Frequency, 63e9)
		require.Greater(t, s.Frequency, float64(minFrequency))
	case *runtimeClock:
		require.Equal(t, "runtime", s.Name)
		require.Same(t, Runtime(), Clock(c))
		_, err := NewTSC()
		require.EqualError(t, err, s.Reason)
	default:
		require.Fail(t, "what is this", "%T", c)
	}
	require.NotEmpty(t, s.Reason)
	require.Contains(t, s.String(), s.Reason)
	t.Log(s)
}

func TestClocksShareAnOrigin(t *testing.T) {
	before := Runtime().Now()
	now := Default().Now()
	after := Runtime().Now()
	require.GreaterOrEqual(t, now, before.Add(-time.Millisecond))
	require.LessOrEqual(t, now, after.Add(time.Millisecond))
}

func TestKernelTrusts(t *testing.T) {
	read := func(content string, err error) func(string) ([]byte, error) {
		return func(name string) ([]byte, error) {
			require.Equal(t, clocksourceFile, name)
			return []byte(content), err
		}
	}
	require.NoError(t, kernelTrusts("linux", "tsc", read("tsc\n", nil)))
	require.EqualError(t, kernelTrusts("linux", "tsc", read("kvm-clock\n", nil)),
		`clock: no TSC: the kernel keeps its time by "kvm-clock", not "tsc"; use Runtime`)
	require.ErrorContains(t, kernelTrusts("linux", "tsc", read("", errors.New("no such file"))), "no such file")
	require.ErrorContains(t, kernelTrusts("linux", "tsc", read("", nil)), `by ""`)
	require.ErrorContains(t, kernelTrusts("windows", "tsc", nil), "windows does not tell")
}

func TestSourceString(t *testing.T) {
	s := Source{
		Name: "tsc", Reason: "good", Frequency: 2.3e9, DriftPPM: 0.25, DriftOver: 8 * time.Second, Offset: 30, Jumps: 2,
	}
	require.Equal(t, "tsc: good; 2300.000000 MHz; drift +0.250 ppm over 8s, offset 30ns; 2 jumps", s.String())
	require.Equal(t, "runtime: why", Source{Name: "runtime", Reason: "why"}.String())
}

func TestNowDoesNotAllocate(t *testing.T) {
	coarse, err := NewCoarse(MaxCoarseStep)
	require.NoError(t, err)
	defer coarse.Close()
	for _, c := range []Clock{Default(), Runtime(), coarse, NewManual(0)} {
		require.Zero(t, testing.AllocsPerRun(200, func() { sink = c.Now() }), "%T", c)
	}
	if c, ok := Default().(*TSC); ok {
		require.Zero(t, testing.AllocsPerRun(200, func() { sink = c.Now() }))
		require.Zero(t, testing.AllocsPerRun(200, func() { sink = c.NowUnordered() }))
	}
	at := Time(0)
	for _, w := range []Wall{SystemWall(), NewManualWall(0)} {
		require.Zero(t, testing.AllocsPerRun(200, func() {
			at += Time(wallAge) // each call measures anew
			sink = Time(w.UnixNano(at))
		}), "%T", w)
	}
}

// TestNoGoroutineIsLeft runs all that has something in the background and counts.
func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	Default()
	c, err := NewCoarse(MinCoarseStep)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	if tsc, err := NewTSC(); err == nil {
		require.NoError(t, tsc.(*TSC).Close())
	}
	deadline := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		runtime.Gosched() // a refinement may be running just now
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}
