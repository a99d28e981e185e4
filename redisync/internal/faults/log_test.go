//go:build linux

package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/redisync/admitted"
)

func TestLogKeepsWhatItIsGiven(t *testing.T) {
	l, err := NewLog("", 3)
	require.NoError(t, err)
	defer l.Close()
	for i := range 5 {
		l.Admit(admitted.Event{Before: int64(i), After: int64(i) + 100, N: 2, Key: 7})
	}
	l.Deny(2000)
	require.Len(t, l.Events(), 3)
	require.Equal(t, admitted.Event{Before: 2, After: 102, N: 2, Key: 7}, l.Events()[2])
	require.EqualValues(t, 2, l.Overflow())
	require.EqualValues(t, 1, l.Denied())
	require.Equal(t, 2*time.Microsecond, l.Slowest())
	require.InEpsilon(t, 100, float64(Quantile(0.5, l)), 0.13)
	require.InEpsilon(t, 2000, float64(Quantile(1, l)), 0.13)
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
}

func TestLogErrors(t *testing.T) {
	_, err := NewLog("", 0)
	require.ErrorContains(t, err, "must be 1 or more")
	_, err = NewLog(filepath.Join(t.TempDir(), "no", "such"), 1)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = OpenLog(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	short := filepath.Join(t.TempDir(), "short")
	require.NoError(t, os.WriteFile(short, []byte("x"), 0o600))
	_, err = OpenLog(short)
	require.ErrorContains(t, err, "is no log")
}

// The test's own program writes a log and is killed.
func TestLogOutlivesItsProcess(t *testing.T) {
	if path := os.Getenv("FAULTS_LOG"); path != "" {
		l, err := NewLog(path, 10)
		require.NoError(t, err)
		l.Admit(admitted.Event{Before: monotonic(), After: monotonic(), N: 1, Key: 3})
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	path := filepath.Join(t.TempDir(), "log")
	before := newStopwatch().now()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLogOutlivesItsProcess$")
	cmd.Env = append(os.Environ(), "FAULTS_LOG="+path)
	err := cmd.Run()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal())
	l, err := OpenLog(path)
	require.NoError(t, err)
	defer l.Close()
	require.Len(t, l.Events(), 1)
	e := l.Events()[0]
	require.EqualValues(t, 3, e.Key)
	require.Greater(t, e.Before, before, "both processes have the same clock")
	require.Less(t, e.After, newStopwatch().now())
}

func TestTimesAreCountedInSteps(t *testing.T) {
	for _, ns := range []int64{-1, 0, 1, 7, 8, 15, 16, 17, 100, 1000, 123_456_789, 1 << 62} {
		step := timeStep(ns)
		require.LessOrEqual(t, stepTime(step), max(ns, 0), "%d", ns)
		if ns < 1<<62 {
			require.Greater(t, stepTime(step+1), ns, "%d", ns)
		}
	}
	last := -1
	for ns := range int64(5000) {
		require.GreaterOrEqual(t, timeStep(ns), last)
		last = timeStep(ns)
	}
}

func TestStopwatchReadsTheSharedClock(t *testing.T) {
	s := newStopwatch()
	for i := range 100 {
		before := monotonic()
		now := s.now()
		after := monotonic()
		require.InDelta(t, float64(before+after)/2, float64(now), float64(after-before)+5000, strconv.Itoa(i))
	}
	require.Less(t, NewDrift().Gained(), 50*time.Millisecond)
}
