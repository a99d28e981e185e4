package idem_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/idem/idemtest"
)

// With too little room at times.
func TestMemoryUnderFire(t *testing.T) {
	keys, calls := 10_000, 4_000
	if testing.Short() || idem.RaceEnabled {
		keys, calls = 500, 400
	}
	maxRecords := keys / 16
	c := clock.NewManual(clock.Time(time.Hour))
	m, err := idem.NewMemory(idem.MemoryConfig{Clock: c, MaxRecords: maxRecords})
	require.NoError(t, err)
	var tooMany atomic.Int64
	st := idemtest.Fire(t, idemtest.FireConfig{
		Backends: []idem.Backend{m}, Advance: func(d time.Duration) { c.Advance(d) },
		Keys: keys, Calls: calls,
		Watch: func() {
			if m.Usage().Records > maxRecords {
				tooMany.Add(1)
			}
		},
	})
	t.Logf("%+v", st)
	require.NotZero(t, st.Full)
	require.Zero(t, tooMany.Load(), "more records than there is room for")

	u := m.Usage()
	require.LessOrEqual(t, u.Bytes, int64(u.Records)*(idem.RecordBytes+idem.RoomyResult))
	m.Sweep()
	require.Zero(t, m.Usage().Records, "all comes back")
	require.Zero(t, m.Usage().Bytes)
}

// On the clock of the machine.
func TestMemoryUnderFireInRealTime(t *testing.T) {
	keys, calls := 1000, 20_000
	if testing.Short() || idem.RaceEnabled {
		keys, calls = 100, 1_000
	}
	m, err := idem.NewMemory(idem.MemoryConfig{})
	require.NoError(t, err)
	st := idemtest.Fire(t, idemtest.FireConfig{
		Backends: []idem.Backend{m}, Keys: keys, Calls: calls,
		Lease: 500 * time.Microsecond, TTL: 20 * time.Millisecond,
	})
	t.Logf("%+v", st)
}
