package load

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/internal/redisserver"
)

// Every case runs for a moment and gives the answers that it is for.
func TestCasesAnswerAsTheySay(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range Groups() {
		require.NotEmpty(t, g.Cases, g.Name)
		for _, c := range g.Cases {
			t.Run(g.Name+"/"+c.String(), func(t *testing.T) {
				name := g.Name + "/" + c.String()
				require.False(t, seen[name], "the name is there twice: its profile could not be told apart")
				seen[name] = true
				middle := 0
				calls, err := c.Run(10*time.Millisecond, 2, func() error { middle++; return nil })
				if errors.Is(err, redisserver.ErrNotInstalled) {
					t.Skip(err)
				}
				require.NoError(t, err)
				require.Positive(t, calls)
				require.Equal(t, 1, middle)
			})
		}
	}
}

func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, c := range apply() {
		_, err := c.Run(5*time.Millisecond, 2, nil)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before+1, "a goroutine is left; one may be the default clock's")
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		want           Outcome
		calls, allowed int64
		fault          string
	}{
		{Allowed, 10, 10, ""}, {Denied, 10, 0, ""}, {Some, 10, 1, ""},
		{Allowed, 10, 9, "9 of 10 calls were allowed; this path is for calls that are allowed"},
		{Denied, 10, 1, "1 of 10 calls were allowed; this path is for calls that are denied"},
		{Some, 10, 0, "allowed at least once"},
		{Some, 0, 0, "no call was made"},
	} {
		err := Case{Policy: "p", Path: "q", Want: c.want}.check(c.calls, c.allowed)
		if c.fault == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "p/q: ")
		require.ErrorContains(t, err, c.fault)
	}
}
