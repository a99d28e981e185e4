package bench

import (
	"io"
	"testing"

	"github.com/tickgate/tickgate/bench/internal/load"
	"github.com/tickgate/tickgate/bench/internal/peer"
)

var peerCases = []struct {
	keys  int
	limit load.Limit
	g     int
}{
	{1, load.Allow, 1},
	{1, load.Allow, 2},
	{1, load.Deny, 1},
	{1, load.Deny, 2},
	{10_000, load.Allow, 1},
	{10_000, load.Allow, 2},
	{10_000, load.Deny, 1},
	{1_000_000, load.Allow, 1},
}

// BenchmarkPeer measures other limiters on the keys, the order and the limits
// of BenchmarkGate.
func BenchmarkPeer(b *testing.B) {
	for _, lib := range peer.All() {
		b.Run("lib="+lib.Name, func(b *testing.B) { benchmarkPeer(b, lib) })
	}
}

func benchmarkPeer(b *testing.B, lib peer.Lib) {
	for _, c := range peerCases {
		if !lib.Keyed && c.keys > 1 || !lib.CanDeny && c.limit == load.Deny {
			continue
		}
		var p peer.Limiter // made by the first run, kept for the others
		var s *stream
		b.Run(leaf(c.keys, c.limit, c.g), func(b *testing.B) {
			if p == nil {
				p, s = newPeer(b, lib, c.keys, c.limit), newStream(c.keys)
			}
			drive(b, c.g, c.limit, peerCalls(p, s))
		})
		if closer, ok := p.(io.Closer); ok {
			if err := closer.Close(); err != nil {
				b.Error(err)
			}
		}
	}
}

// newPeer returns a limiter in which every key has made one call.
func newPeer(b *testing.B, lib peer.Lib, keys int, l load.Limit) peer.Limiter {
	b.Helper()
	p, err := lib.New(l, keys)
	if err != nil {
		b.Fatal(err)
	}
	for i := range keys {
		if !p.Allow(load.Key(i)) {
			b.Fatalf("the first call of key %d of %d was denied", i, keys)
		}
	}
	return p
}

func peerCalls(p peer.Limiter, s *stream) calls {
	return func(w, n int) (allowed int) {
		keys, i := s.keys, s.at[w].i
		for range n {
			if i == len(keys) {
				i = 0
			}
			allowed += count(p.Allow(keys[i]))
			i++
		}
		s.at[w].i = i
		return allowed
	}
}
