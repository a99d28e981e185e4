package peer

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/bench/internal/load"
)

func open(t *testing.T, lib Lib, l load.Limit, keys int) Limiter {
	t.Helper()
	p, err := lib.New(l, keys)
	require.NoError(t, err)
	if c, ok := p.(io.Closer); ok {
		t.Cleanup(func() { require.NoError(t, c.Close()) })
	}
	return p
}

func TestAllowLimitAllowsEveryCall(t *testing.T) {
	for _, lib := range All() {
		t.Run(lib.Name, func(t *testing.T) {
			p := open(t, lib, load.Allow, 1)
			for i := range 10_000 {
				require.True(t, p.Allow(load.Key(0)), "call %d", i)
			}
		})
	}
}

func TestDenyLimitAllowsOneCallPerKey(t *testing.T) {
	const keys = 100
	for _, lib := range All() {
		if !lib.CanDeny {
			continue
		}
		t.Run(lib.Name, func(t *testing.T) {
			p := open(t, lib, load.Deny, keys)
			for i := range keys {
				require.True(t, p.Allow(load.Key(i)), "first call of key %d", i)
			}
			for i := range keys {
				require.False(t, p.Allow(load.Key(i)), "second call of key %d", i)
			}
		})
	}
}

func TestUberRefusesWhatItCannotDo(t *testing.T) {
	_, err := uber.New(load.Deny, 1)
	require.Error(t, err)
	_, err = uber.New(load.Allow, 2)
	require.Error(t, err)
}

func TestFind(t *testing.T) {
	for _, lib := range All() {
		got, ok := Find(lib.Name)
		require.True(t, ok)
		require.Equal(t, lib.Name, got.Name)
		require.Contains(t, Names(), lib.Name)
	}
	_, ok := Find("none")
	require.False(t, ok)
}
