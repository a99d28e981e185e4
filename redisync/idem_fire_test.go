package redisync

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/idem/idemtest"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// Several processes' stores, one Redis, on a clock that jumps.
func TestIdemUnderFire(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	h := holdTime(t, s)
	calls := 200
	if testing.Short() {
		calls = 60
	}
	st := idemtest.Fire(t, idemtest.FireConfig{
		Backends: []idem.Backend{h.backend(IdemConfig{}), h.backend(IdemConfig{})},
		Advance:  h.advance, Runs: true, Keys: 50, Calls: calls,
	})
	t.Logf("%+v", st)
	require.Zero(t, allExpire(t, s), "all comes back")
}

// On the server's own clock, with leases that owners outlive. Some processes lose
// the answers to a part of their calls.
func TestIdemUnderFireInRealTime(t *testing.T) {
	keys, calls := 10_000, 1_000
	if testing.Short() {
		keys, calls = 500, 150
	}
	s := redistest.Start(t, redistest.Options{})
	base := s.Must("DBSIZE")
	b, other := newIdem(t, s, IdemConfig{Timeout: idemWithin}), newIdem(t, s, IdemConfig{Timeout: idemWithin})
	unlucky, lose := deafIdem(t, s, idemWithin)
	var n atomic.Int32
	st := idemtest.Fire(t, idemtest.FireConfig{
		Backends: []idem.Backend{b, other, unlucky}, Keys: keys, Calls: calls,
		Watch: func() {
			if n.Add(1)%500 == 0 {
				lose.Store(1)
			}
		},
	})
	t.Logf("%+v, %+v", st, unlucky.Stats())
	require.NotZero(t, unlucky.Stats().Retried)
	allExpire(t, s)
	require.Eventually(t, func() bool { return s.Must("DBSIZE") == base }, idemWithin, idemPoll, "all comes back")
}

// 64 callers of two processes want each of the keys.
func TestIdemFirstCallsOfTwoProcesses(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	both := [2]*Idem{newIdem(t, s, IdemConfig{}), newIdem(t, s, IdemConfig{})}
	const keys = 100
	var acquired [keys]atomic.Int32
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for n := range keys {
				e, err := both[g%2].Begin(t.Context(), idemKey(n), idemPrintA, idemLong)
				if err != nil {
					t.Error(err)
				}
				if e.State == idem.Acquired {
					acquired[n].Add(1)
				}
			}
		})
	}
	wg.Wait()
	for n := range acquired {
		require.EqualValues(t, 1, acquired[n].Load(), "key %d", n)
	}
}
