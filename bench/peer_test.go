package bench

import (
	"io"
	"testing"

	"github.com/tickgate/tickgate/bench/internal/load"
	"github.com/tickgate/tickgate/bench/internal/peer"
)

// peerCase is what a peer is measured under.
type peerCase struct {
	keys  int
	limit load.Limit
	g     int
}

// peerCases are all combinations. Those of the same keys and limit follow each
// other: they share a limiter, because filling one with a million keys takes
// longer than measuring it.
func peerCases() []peerCase {
	var cases []peerCase
	for _, keys := range []int{1, 10_000, 1_000_000} {
		for _, limit := range []load.Limit{load.Allow, load.Deny} {
			for _, g := range []int{1, 2} {
				cases = append(cases, peerCase{keys, limit, g})
			}
		}
	}
	return cases
}

// BenchmarkPeer measures other limiters on the keys, the order and the limits
// of BenchmarkGate.
func BenchmarkPeer(b *testing.B) {
	for _, lib := range peer.All() {
		b.Run("lib="+lib.Name, func(b *testing.B) { benchmarkPeer(b, lib) })
	}
}

func benchmarkPeer(b *testing.B, lib peer.Lib) {
	var f filled
	defer f.close(b)
	for _, c := range peerCases() {
		if !lib.Keyed && c.keys > 1 || !lib.CanDeny && c.limit == load.Deny {
			continue
		}
		var run calls // made by the first run, kept for the others
		b.Run(leaf(c.keys, c.limit, c.g), func(b *testing.B) {
			if run == nil {
				run = peerCalls(f.get(b, lib, c.keys, c.limit), newStream(c.keys))
			}
			drive(b, c.g, c.limit, run)
		})
	}
}

// filled holds one limiter in which every key has made one call, until another
// is asked for: two of them with a million keys would be in each other's way.
type filled struct {
	limiter peer.Limiter
	keys    int
	limit   load.Limit
}

func (f *filled) get(b *testing.B, lib peer.Lib, keys int, l load.Limit) peer.Limiter {
	b.Helper()
	if f.limiter == nil || f.keys != keys || f.limit != l {
		f.close(b)
		f.limiter, f.keys, f.limit = newPeer(b, lib, keys, l), keys, l
	}
	return f.limiter
}

func (f *filled) close(b *testing.B) {
	b.Helper()
	closer, ok := f.limiter.(io.Closer)
	f.limiter = nil
	if !ok {
		return
	}
	if err := closer.Close(); err != nil {
		b.Error(err)
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
