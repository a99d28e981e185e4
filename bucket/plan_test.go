package bucket

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

func named(t testing.TB, names ...string) []Named {
	var limits []Named
	for _, name := range names {
		// The capacity tells limits apart.
		l := rate{tokens: 1, per: second, capacity: int64(len(name)) * 10}.limit(t)
		limits = append(limits, Named{Name: name, Limit: l})
	}
	return limits
}

// indexes of the active limits by name.
func indexes(p *Plan) map[string]int {
	m := make(map[string]int)
	for _, k := range p.Active {
		m[p.Names[k]] = k
	}
	return m
}

func TestPlanKeepsIndexes(t *testing.T) {
	p := (*Plan)(nil).Next(named(t, "a", "bb", "ccc"), "", 5)
	require.Equal(t, map[string]int{"a": 0, "bb": 1, "ccc": 2}, indexes(p))
	require.Equal(t, []int{0, 1, 2}, p.Active)
	require.Equal(t, uint32(0b111), p.Init)
	require.Zero(t, p.Parity())
	require.Zero(t, p.Gen())
	require.False(t, p.Single)

	p = p.Next(named(t, "ccc", "a", "bb"), "", 6) // reordered
	require.Equal(t, map[string]int{"a": 0, "bb": 1, "ccc": 2}, indexes(p))
	require.Equal(t, uint64(1), p.Parity())
	require.Equal(t, uint32(1), p.Gen())
	require.Zero(t, p.fresh)

	p = p.Next(named(t, "ccc", "bb"), "", 7) // one removed: a hole
	require.Equal(t, map[string]int{"bb": 1, "ccc": 2}, indexes(p))
	require.Equal(t, []int{1, 2}, p.Active)
	require.Equal(t, uint32(0b110), p.Init)
	require.Zero(t, p.Parity())

	p = p.Next(named(t, "ccc"), "", 8)
	require.False(t, p.Single, "the only limit, but not the first word")
	require.Equal(t, []int{2}, p.Active)

	p = p.Next(named(t, "dddd", "ccc", "a"), "", 9) // the holes are filled
	require.Equal(t, map[string]int{"dddd": 0, "a": 1, "ccc": 2}, indexes(p))
	require.Equal(t, uint32(0b011), p.fresh)

	p = p.Next(named(t, "dddd"), "", 10)
	require.True(t, p.Single)

	p = p.Next(nil, "stop", 11)
	require.Empty(t, p.Active)
	require.True(t, p.Deny)
	require.Equal(t, "stop", p.DenyName)
	require.False(t, p.Single)

	p = p.Next(named(t, "a", "bb", "ccc", "dddd", "e", "f", "g", "h"), "", 12)
	require.Len(t, p.Active, MaxLimits)
	require.Equal(t, uint32(0xFF), p.fresh)
	require.False(t, p.Deny)
}

// However limits come and go, one that stays keeps its index, no two share one,
// and everything of a plan agrees with everything else.
func TestPlanIndexesAtRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	var all []string
	for i := range 12 {
		all = append(all, fmt.Sprint("limit", i))
	}
	for range 300 {
		var p *Plan
		for gen := range uint32(12) {
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			names := all[:rng.IntN(MaxLimits+1)]
			next := p.Next(named(t, names...), "", clock.Time(gen))
			at := indexes(next)
			require.Len(t, at, len(names))
			require.Equal(t, gen, next.Gen())
			require.Equal(t, uint64(gen%2), next.Parity())
			require.IsIncreasing(t, append([]int{-1}, next.Active...))
			for i, name := range names {
				k := at[name]
				require.Equal(t, uint32(1), next.Init>>k&1)
				require.Equal(t, next.Parity(), next.Limits[k].Parity())
				require.Equal(t, named(t, names...)[i].Limit.Capacity(), next.Limits[k].Capacity())
				was := p.Index(name)
				require.Equal(t, was < 0, next.fresh>>k&1 == 1, name)
				if was >= 0 {
					require.Equal(t, was, k, name)
				}
			}
			if p != nil {
				both := p.Prepare(next)
				require.Equal(t, p.Init|next.Init, both.Init)
				require.Equal(t, p.Active, both.Active)
				require.Nil(t, next.prev.prev, "old plans must not pile up")
			}
			p = next
		}
	}
}

func TestReadGoesByParity(t *testing.T) {
	slow := rate{tokens: 1, per: second, capacity: 10}.limit(t)
	fast := rate{tokens: 10, per: second, capacity: 10}.limit(t)
	o, at := OriginOf(77), clock.Time(5*second)
	p0 := (*Plan)(nil).Next([]Named{{Name: "a", Limit: slow}}, "", 0)
	p1 := p0.Next([]Named{{Name: "b", Limit: fast}, {Name: "a", Limit: fast}}, "", at)

	w := mustTake(t, &p0.Limits[0], p0.Limits[0].Full(o, at), o, at, 8)
	require.Equal(t, w, read(p0, 0, w, o, at), "nothing before the first generation")
	now := read(p1, 0, w, o, at)
	require.Equal(t, p1.Limits[0].Convert(&p0.Limits[0], w, o, at), now)
	require.Equal(t, int64(2), p1.Limits[0].Remaining(now, o, at))
	require.Equal(t, now, read(p1, 0, now, o, at), "once is enough")
	require.Equal(t, now, read(p1, 0, now, o, at+clock.Time(hour)))

	// A new limit is full from the change on, whatever its word held.
	require.Equal(t, p1.Limits[1].Full(o, at), read(p1, 1, 0, o, at))

	// Dated by the key's own time where that is later, and no take is later than it.
	ahead := at + clock.Time(second)
	w = mustTake(t, &p0.Limits[0], p0.Limits[0].Full(o, ahead), o, ahead, 8)
	now = read(p1, 0, w, o, ahead)
	require.Equal(t, int64(2), p1.Limits[0].Remaining(now, o, ahead))
}

// A key that nobody asked for in years is full after a change of its rate.
func TestCurrentAfterYears(t *testing.T) {
	for _, r := range rates {
		l := r.limit(t)
		m := rate{tokens: 13, per: second, capacity: 100}.limit(t)
		o := OriginOf(5)
		for years := int64(1); years < 40; years++ {
			at := clock.Time(years*year - 20*year)
			p0 := (*Plan)(nil).Next([]Named{{Name: "a", Limit: l}}, "", 0)
			p1 := p0.Next([]Named{{Name: "a", Limit: m}}, "", at)
			seen := clock.Time(-20 * year)
			w := mustTake(t, &p0.Limits[0], p0.Limits[0].Full(o, seen), o, seen, r.capacity)
			w = read(p1, 0, w, o, seen)
			require.True(t, p1.Limits[0].IsFull(w, o, at), "%v, %d years", r, years)
			require.Equal(t, p1.Parity(), Parity(w))
		}
	}
}

// read is what a taker makes of word i.
func read(p *Plan, i int, w uint64, o Origin, newest clock.Time) uint64 {
	_, cur := p.Read(i, w, o, newest)
	return cur
}
