package shard

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMetaFieldsDoNotOverlap(t *testing.T) {
	require.Equal(t, ^meta(0), stateMask|pinMask|barBit|roundMask|incMask)
	require.Zero(t, stateMask&pinMask|pinMask&barBit|barBit&roundMask|pinMask&roundMask|roundMask&incMask|stateMask&roundMask|stateMask&incMask|pinMask&incMask)
	require.Equal(t, meta(0), free, "zeroed memory is free slots")
}

func TestMetaStates(t *testing.T) {
	for _, m := range []meta{0, pinMask | roundMask | incMask, incOne | pinOne} {
		for state, visible := range map[meta]bool{free: false, private: false, live: true, closing: true} {
			n := m.with(state)
			require.Equal(t, state, n.state())
			require.Equal(t, visible, n.visible())
			require.Equal(t, m&^stateMask, n&^stateMask, "another field changed")
			require.True(t, n.same(m))
		}
	}
}

func TestMetaPins(t *testing.T) {
	m := incOne.with(live)
	require.False(t, m.pinned())
	for range int(handlePins / pinOne) {
		m += pinOne
		require.True(t, m.pinned())
	}
	require.Equal(t, uint64(1), m.inc())
	require.Equal(t, live, m.state())
	m += pinOne // the one that is left for a change
	require.Equal(t, pinMask, m&pinMask)
	require.Equal(t, uint64(1), m.inc())
}

// A round wraps into itself and nothing else.
func TestMetaClosed(t *testing.T) {
	m := (incMask &^ incOne).with(live)
	for range 1<<20 - 1 {
		n := m.closed()
		if n.state() != closing || !n.same(m) || n == m || n&roundMask != (m+roundOne)&roundMask {
			t.Fatalf("%x closed is %x", m, n)
		}
		m = n.with(live)
	}
	require.Equal(t, roundMask, m&roundMask)
	require.Equal(t, (incMask &^ incOne).with(closing), m.closed(), "round 2^20 is round 0")
	require.NotEqual(t, m.with(closing), m.with(closing).closed(), "a slot that is closing is taken over in a new round")
}

// An emptied slot has another incarnation, no pins and no round; the last one is
// followed by the first.
func TestMetaEmptied(t *testing.T) {
	m := (incOne*5 | roundOne*7).with(closing)
	e := m.emptied()
	require.Equal(t, incOne*6, e)
	require.Equal(t, free, e.state())
	require.False(t, e.same(m))
	require.Equal(t, meta(0), (incMask | roundMask).with(live).emptied())
}
