package redisync

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParsersRefuseNumbersThatCannotBe(t *testing.T) {
	credit := []int64{0, 50 * Unit, 1, 0, 0, 7, 9, 100, 1, 100 * Unit}
	take := append(append([]int64{}, credit...), 1, 0)
	lease := []int64{0, 16, 4, 50 * Unit, 1, 0, 0, 16, 9, 100, 1, 100 * Unit}
	beat := []int64{3, 1, 0}
	for name, c := range map[string]struct {
		good  []int64
		parse func([]int64) error
		bad   map[int][]int64
	}{
		"credit": {credit, func(v []int64) error { _, err := ParseCredit(v); return err }, map[int][]int64{
			0: {-1, 3}, 1: {100*Unit + 1, -1<<53 - 1}, 4: {-1}, 5: {-1, 1<<53 + 1}, 6: {-1}, 7: {0, -1}, 8: {0}, 9: {-1, 49 * Unit},
		}},
		"take":      {take, func(v []int64) error { _, err := ParseTake(v); return err }, map[int][]int64{1: {100*Unit + 1}, 10: {-1, 2}, 11: {-2, 1<<53 + 1}}},
		"lease":     {lease, func(v []int64) error { _, err := ParseLease(v); return err }, map[int][]int64{0: {3}, 1: {-1, 3}, 2: {-1, 17}, 3: {100*Unit + 1}, 7: {-1}, 9: {0}}},
		"heartbeat": {beat, func(v []int64) error { _, err := ParseHeartbeat(v); return err }, map[int][]int64{0: {-1, 1_000_001}}},
	} {
		require.NoError(t, c.parse(c.good), name)
		for i, values := range c.bad {
			for _, n := range values {
				v := append([]int64{}, c.good...)
				v[i] = n
				require.Error(t, c.parse(v), "%s: %d at %d", name, n, i)
			}
		}
	}
}

func TestMoreThanWasWantedIsNotSpent(t *testing.T) {
	for grant, want := range map[int64]bool{5: true, 90: false} {
		b := benchOf(t, on(t, 0, "100/d"), as(Lease))
		b.redis.grant = grant
		require.False(t, b.gate.Allow("k", "e"))
		b.run(50 * time.Millisecond)
		require.Equal(t, want, b.gate.Allow("k", "e"), grant)
		require.Equal(t, !want, b.engine.state().Unknown > 0)
	}
}
