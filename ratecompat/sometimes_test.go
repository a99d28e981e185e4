package ratecompat

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// runs returns which of calls calls ran, a call every pause.
func runs(s *Sometimes, calls int, pause time.Duration) (ran []int) {
	for i := range calls {
		s.Do(func() { ran = append(ran, i) })
		time.Sleep(pause)
	}
	return ran
}

func TestSometimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, []int{0}, runs(&Sometimes{}, 20, time.Hour))
		require.Equal(t, []int{0, 1, 2}, runs(&Sometimes{First: 3}, 20, 0))
		require.Equal(t, []int{0, 6, 12, 18}, runs(&Sometimes{Every: 6}, 20, 0))
		require.Equal(t, []int{0, 3, 6, 9}, runs(&Sometimes{Interval: 5 * time.Second}, 10, 2*time.Second))
		require.Equal(t, []int{0, 1, 5, 9, 10}, runs(&Sometimes{First: 2, Every: 5, Interval: 5 * time.Second}, 11, 1600*time.Millisecond))
		require.Equal(t, []int{0}, runs(&Sometimes{First: -1, Every: -1, Interval: -1}, 9, time.Hour))
	})
}
