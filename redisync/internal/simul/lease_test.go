package simul

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func onLease() Options {
	return Options{Nodes: 3, Keys: 2, MaxKeys: 64, Tokens: 100, Per: time.Second, Capacity: 8, Term: 64 * time.Millisecond}
}

func TestLease(t *testing.T) {
	for _, c := range []struct {
		name string
		of   func(*Options)
	}{
		{"healthy", func(o *Options) {}},
		{"lost and late calls", func(o *Options) { o.Lose = true }},
		{"crashes", func(o *Options) { o.Lose, o.Crash = true, true }},
		{"flush", func(o *Options) { o.Lose, o.Flush = true, true }},
		{"fall back", func(o *Options) { o.Lose, o.Fall = true, true }},
		{"evictions", func(o *Options) { o.Lose, o.Keys, o.MaxKeys = true, 12, 6 }},
		{"fast", func(o *Options) { o.Lose, o.Tokens = true, 1000 }},
		{"one key, many nodes", func(o *Options) { o.Lose, o.Flush, o.Keys, o.Nodes, o.Capacity = true, true, 1, 8, 64 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := onLease()
			c.of(&o)
			r := playAll(t, o, Leases, 8000)
			require.Greater(t, r.Used, int64(250))
			require.Greater(t, r.Calls, 250)
		})
	}
}

func TestLeaseBugsAreCaught(t *testing.T) {
	for _, c := range []struct {
		name string
		bug  bugs
		of   func(*Options)
	}{
		{"no margin", noMargin, func(o *Options) {}},
		{"from the reply", fromReply, func(o *Options) {}},
		{"keeps what was written off", keepLeft, func(o *Options) {}},
		{"news first", newsFirst, func(o *Options) {}},
		{"sweep first", sweepFirst, func(o *Options) {}},
		{"returns all", returnAll, func(o *Options) {}},
		{"no stale", noStale, func(o *Options) {}},
		{"no learning", noLearn, func(o *Options) { o.Flush = true }},
		{"no wait", noWait, func(o *Options) { o.Flush = true }},
		{"revived", revive, func(o *Options) { o.Flush = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := onLease()
			o.Lose, o.bug = true, c.bug
			c.of(&o)
			for seed := range uint64(400) {
				if _, err := Leases(Random(seed, 8000), o); err != nil {
					t.Log(seed, err)
					return
				}
			}
			t.Fatal("nothing was noticed")
		})
	}
}

func FuzzLease(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(bytesOf(seed, 2000))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := Bytes(data)
		o := onLease()
		faults := c.IntN(16)
		o.Lose, o.Crash, o.Fall, o.Flush = faults&1 != 0, faults&2 != 0, faults&4 != 0, faults&8 != 0
		o.Nodes, o.Keys, o.Capacity = 1+c.IntN(4), 1+c.IntN(3), 1+int64(c.IntN(20))
		_, err := Leases(c, o)
		require.NoError(t, err)
	})
}
