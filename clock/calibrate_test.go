package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// calibrated runs calibrate on a counter of hz and a reference that each reading moves by step.
func calibrated(hz float64, step time.Duration, told uint64) (float64, sample, error) {
	ref := NewManual(0)
	counter := func() uint64 {
		ref.Advance(step)
		return uint64(float64(ref.Now()) * hz / 1e9)
	}
	return calibrate(counter, ref, told, func(d time.Duration) { ref.Advance(d) })
}

func TestCalibrate(t *testing.T) {
	for _, hz := range []float64{1e6, 24e6, 1e9, 2.3e9, 5e9} {
		ns, s, err := calibrated(hz, 50*time.Nanosecond, 0)
		require.NoError(t, err)
		require.InEpsilon(t, 1e9/hz, ns, 150e-6, "%v Hz", hz)
		require.Positive(t, s.t)
	}
	ns, _, err := calibrated(24e6, 50*time.Nanosecond, 24e6)
	require.NoError(t, err)
	require.Equal(t, 1e9/24e6, ns, "a frequency that is told is taken as it is")
}

func TestCalibrateErrors(t *testing.T) {
	tests := []struct {
		name string
		hz   float64
		step time.Duration
		told uint64
		want string
	}{
		{"slow reference", 2e9, 20 * time.Microsecond, 0, "too long to calibrate by"},
		{"stopped counter", 0, 50, 0, "the counter moved by 0 ticks"},
		{"backward counter", -1e9, 50, 0, "the counter moved by -"},
		{"slow counter", 1e5, 50, 0, "out of range"},
		{"wrong firmware", 24e6, 50, 19_200_000, "the firmware says 19200000 Hz"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ref := NewManual(0)
			counter := func() uint64 {
				ref.Advance(tt.step)
				return uint64(int64(float64(ref.Now()) * tt.hz / 1e9))
			}
			_, _, err := calibrate(counter, ref, tt.told, func(d time.Duration) { ref.Advance(d) })
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, "use Runtime")
		})
	}
}

func TestTakeSampleKeepsTightest(t *testing.T) {
	ref, n := NewManual(0), uint64(0)
	counter := func() uint64 {
		n++
		if n == 7 {
			ref.Advance(10)
		} else {
			ref.Advance(1000)
		}
		return n
	}
	s := takeSample(counter, ref)
	require.Equal(t, sample{c: 7, t: 6005, width: 10}, s)
}
