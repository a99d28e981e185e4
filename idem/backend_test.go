package idem_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/idem/idemtest"
)

func TestMemoryIsABackend(t *testing.T) {
	idemtest.Backend(t, func(t *testing.T) (idem.Backend, func(time.Duration)) {
		c := clock.NewManual(clock.Time(time.Hour))
		m, err := idem.NewMemory(idem.MemoryConfig{Clock: c})
		require.NoError(t, err)
		return m, func(d time.Duration) { c.Advance(d) }
	})
}

func TestMemoryIsBounded(t *testing.T) {
	idemtest.Bounds(t, func(t *testing.T) (idem.Backend, func(time.Duration)) {
		c := clock.NewManual(clock.Time(time.Hour))
		m, err := idem.NewMemory(idem.MemoryConfig{Clock: c, MaxRecords: 1000, MaxBytes: 700 * (idem.RecordBytes + idem.RoomyResult)})
		require.NoError(t, err)
		return m, func(d time.Duration) { c.Advance(d) }
	}, 701, 1<<20)
}
