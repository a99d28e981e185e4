package shard

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeaderPacks(t *testing.T) {
	require.Equal(t, uint32(0), header(0).pending())
	require.Equal(t, uint32(0), header(0).reach())
	r := rand.New(rand.NewPCG(1, 1))
	h, reach := header(0), uint32(0)
	for version := uint64(1); version < 10_000; version += 2 {
		d := r.Uint32N(groupSlots + window - 1)
		m := meta(r.Uint64N(1<<28))<<incShift | private
		a := h.announce(d, m)
		reach = max(reach, d+1)
		require.Equal(t, d+1, a.pending())
		require.Equal(t, reach, a.reach())
		require.True(t, a.announces(m))
		require.False(t, a.announces(m.emptied()))
		require.Equal(t, version, uint64(a>>versionShift))

		h = a.settled()
		require.Equal(t, uint32(0), h.pending())
		require.Equal(t, reach, h.reach(), "reach only grows")
		require.Equal(t, version+1, uint64(h>>versionShift))
	}
}

// The largest distance that there is fits into its fields.
func TestHeaderHoldsLargestDistance(t *testing.T) {
	const most = groupSlots - 1 + window - 1
	require.LessOrEqual(t, most+1, fieldMask)
	h := header(0).announce(most, private)
	require.Equal(t, uint32(most+1), h.pending())
	require.Equal(t, uint32(most+1), h.reach())
}

// The version wraps and carries into nothing.
func TestHeaderVersionWraps(t *testing.T) {
	h := header(1<<20-1)<<versionShift | 17
	n := h.settled()
	require.Equal(t, header(17), n)
	n = h.announce(3, meta(1<<20+5)<<incShift|private)
	require.Equal(t, uint64(0), uint64(n>>versionShift))
	require.Equal(t, uint32(4), n.pending())
	require.Equal(t, uint32(17), n.reach())
	require.True(t, n.announces(meta(5)<<incShift), "the low 20 bits of the incarnation")
}

// helpTable has one private slot at distance 2 of a group.
func helpTable(t *testing.T) (*Table, group, place) {
	table, p := newTable(t, Options{MaxKeys: 1}, 1, 1000, 4)
	k := p.Named("k")
	g := table.group(k.hash)
	i := g.at(2)
	s := table.slot(i)
	m := (incOne * 9).with(private)
	s.meta.Store(uint64(m))
	return table, g, place{i, s, m}
}

func TestHeaderHelpPublishes(t *testing.T) {
	table, g, own := helpTable(t)
	h := header(0).announce(2, own.m)
	g.header.Store(uint64(h))
	settled := table.help(&g, h)
	require.Zero(t, settled.pending())
	require.Equal(t, settled, loadHeader(g.header))
	require.Equal(t, own.m.with(live), own.s.load())

	// Late, and again: nothing changes any more.
	own.s.meta.Store(uint64(own.m.with(live) + pinOne))
	require.Equal(t, settled, table.help(&g, h))
	require.Equal(t, own.m.with(live)+pinOne, own.s.load())
}

// A helper that comes late, when the slot was given up since and is being written
// for another key, must leave it alone.
func TestHeaderHelpLeavesOtherIncarnation(t *testing.T) {
	table, g, own := helpTable(t)
	h := header(0).announce(2, own.m)
	g.header.Store(uint64(h))
	next := own.m.emptied().with(private)
	own.s.meta.Store(uint64(next))
	table.help(&g, h)
	require.Equal(t, next, own.s.load(), "published while its inserter writes it")
	require.Zero(t, loadHeader(g.header).pending())
}

func TestHeaderSwap(t *testing.T) {
	var p atomic.Uint64
	require.True(t, swapHeader(&p, 0, header(0).settled()))
	require.False(t, swapHeader(&p, 0, 5))
	require.Equal(t, header(0).settled(), loadHeader(&p))
}
