package shard

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// naive is what split does, byte by byte.
func naive(b []byte) (head [inlineKey / 8]uint64, tail []byte) {
	for i, c := range b {
		if i >= inlineKey {
			return head, b[inlineKey:]
		}
		head[i/8] |= uint64(c) << (8 * (i % 8))
	}
	return head, nil
}

func TestKeySplit(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for n := range 2*maxName + 1 {
		for range 8 {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			head, tail := split(b)
			wantHead, wantTail := naive(b)
			require.Equal(t, wantHead, [...]uint64{head.a, head.b, head.c}, "%d bytes", n)
			require.Equal(t, string(wantTail), string(tail), "%d bytes", n)
		}
	}
}

// Two keys compare equal exactly when their bytes are equal: for every length, a
// difference at every place, one byte more or less, and zeros at the end.
func TestKeyIs(t *testing.T) {
	table, p := newTable(t, Options{MaxKeys: 4}, 1, 1000, 4)
	r := rand.New(rand.NewPCG(3, 3))
	const i = 7
	s := table.slot(i)
	key := func(b []byte) Key {
		// One hash for all, so that bytes and lengths alone tell them apart.
		k := Key{hash: 0, ident: ident(0, p.index, min(len(b), maxName), max(0, len(b)-maxName))}
		k.head, k.tail = split(b)
		return k
	}
	for n := 1; n <= 2*maxName; n++ {
		b := make([]byte, n)
		for j := range b {
			b[j] = byte(r.Uint32())
		}
		own := key(b)
		table.write(i, s, &own)
		require.True(t, table.is(i, s, &own), "%d bytes", n)
		copied := key([]byte(string(b)))
		require.True(t, table.is(i, s, &copied))
		for range 16 {
			other := []byte(string(b))
			at := r.IntN(n)
			other[at] ^= byte(1 + r.IntN(255))
			k := key(other)
			require.False(t, table.is(i, s, &k), "%d bytes, differ at %d", n, at)
		}
		shorter, longer := key(b[:n-1]), key(append([]byte(string(b)), 0))
		require.False(t, table.is(i, s, &shorter))
		if n < 2*maxName {
			require.False(t, table.is(i, s, &longer))
		}
	}
}

// A slot that held a longer key leaves nothing of it behind.
func TestKeyOverwritesLonger(t *testing.T) {
	table, p := newTable(t, Options{MaxKeys: 4}, 1, 1000, 4)
	const i = 3
	long, short := p.Named(strings.Repeat("x", 256)), p.Named("x")
	table.write(i, table.slot(i), &long)
	table.write(i, table.slot(i), &short)
	require.True(t, table.is(i, table.slot(i), &short))
	require.False(t, table.is(i, table.slot(i), &long))
	again := p.Named(strings.Repeat("x", 30))
	table.write(i, table.slot(i), &again)
	require.True(t, table.is(i, table.slot(i), &again))
}

func TestKeyIdent(t *testing.T) {
	seen := map[uint64]string{}
	for _, policy := range []uint16{0, 1, 2, 255, 256, 1<<16 - 1} {
		for _, apikey := range []int{1, 2, 24, 255, 256} {
			for _, endpoint := range []int{0, 1, 2, 255, 256} {
				id := ident(0xABCDEF<<32|0x12345678, policy, apikey, endpoint)
				require.Equal(t, policy, identPolicy(id))
				what := fmt.Sprint(policy, apikey, endpoint)
				require.Empty(t, seen[id], "%s and %s", seen[id], what)
				seen[id] = what
			}
		}
	}
	require.NotEqual(t, ident(1<<40, 1, 1, 0), ident(2<<40, 1, 1, 0), "the tag")
}

// Keys of one apikey under different policies and endpoints have different homes
// for the most part, and are different keys always.
func TestKeyNamedAndUnnamed(t *testing.T) {
	table, p := newTable(t, Options{MaxKeys: 1000}, 1, 1000, 4)
	other := table.AddPolicy("default", planOf(t, 1, 1000, 4))
	buf := make([]byte, 0, 2*maxName)
	keys := []Key{p.Named("ab"), other.Named("ab")}
	for _, names := range [][2]string{{"a", "b"}, {"b", "a"}, {"ab", "c"}, {"a", "bc"}, {"a", "a"}, {"b", "b"}, {"abc", "order.new"}} {
		keys = append(keys, other.Unnamed(names[0], names[1], append([]byte(nil), buf...)))
	}
	idents, hashes := map[string]bool{}, map[uint64]bool{}
	for _, k := range keys {
		idents[fmt.Sprint(k.ident, k.head, string(k.tail))] = true
		hashes[k.hash] = true
	}
	require.Len(t, idents, len(keys))
	require.Len(t, hashes, len(keys))
}
