package simul

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func onCredit() Options {
	return Options{Nodes: 3, Keys: 3, MaxKeys: 64, Tokens: 100, Per: time.Second, Capacity: 8, Credit: 3}
}

// plays is how often each configuration is played; a quarter of that by -short.
const plays = 20

// playAll plays o by so many seeds.
func playAll(t *testing.T, o Options, play func(Choice, Options) (Result, error), steps int) (all Result) {
	n := uint64(plays)
	if testing.Short() {
		n /= 4
	}
	for seed := range n {
		r, err := play(Random(seed, steps), o)
		require.NoError(t, err, "seed %d", seed)
		all.Used += r.Used
		all.Calls += r.Calls
		all.Most = max(all.Most, r.Most)
	}
	t.Logf("%d tokens, %d calls, %.2f beyond", all.Used, all.Calls, all.Most)
	return all
}

func TestCredit(t *testing.T) {
	for _, c := range []struct {
		name string
		of   func(*Options)
	}{
		{"healthy", func(o *Options) {}},
		{"lost and late calls", func(o *Options) { o.Lose = true }},
		{"crashes", func(o *Options) { o.Lose, o.Crash = true, true }},
		{"evictions", func(o *Options) { o.Lose, o.Keys, o.MaxKeys = true, 12, 6 }},
		{"fall back", func(o *Options) { o.Lose, o.Fall = true, true }},
		{"flush", func(o *Options) { o.Lose, o.Flush = true, true }},
		{"everything", func(o *Options) { o.Lose, o.Crash, o.Fall, o.Flush, o.Keys, o.MaxKeys = true, true, true, true, 12, 6 }},
		{"one key, many nodes", func(o *Options) { o.Lose, o.Nodes, o.Keys, o.Credit = true, 8, 1, 8 }},
		{"slow", func(o *Options) { o.Lose, o.Tokens, o.Per = true, 7, time.Minute }},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := onCredit()
			c.of(&o)
			r := playAll(t, o, Credit, 4000)
			require.Greater(t, r.Used, int64(250))
			require.Greater(t, r.Calls, 250)
			bound := float64(int64(o.Nodes-1) * o.Credit)
			require.GreaterOrEqual(t, r.Most, .7*bound, "otherwise the bound was not tried")
		})
	}
}

// Each rule that is broken is noticed.
func TestCreditBugsAreCaught(t *testing.T) {
	for _, c := range []struct {
		name string
		bug  bugs
		of   func(*Options)
	}{
		{"deltas", deltas, func(o *Options) {}},
		{"cleared when given up", clear, func(o *Options) {}},
		{"overwrites", overwrite, func(o *Options) {}},
		{"refill for the flight", flight, func(o *Options) {}},
		{"late replies", lateReply, func(o *Options) {}},
		{"same epoch", sameEpoch, func(o *Options) {}},
		{"forgets too soon", forgetSoon, func(o *Options) {}},
		{"same name", sameName, func(o *Options) { o.Crash = true }},
		{"no stale", noStale, func(o *Options) {}},
		{"from base", fromBase, func(o *Options) {}},
		{"from base, old epoch", oldEpoch, func(o *Options) { o.Fall = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := onCredit()
			o.Lose, o.bug = true, c.bug
			c.of(&o)
			for seed := range uint64(300) {
				if _, err := Credit(Random(seed, 4000), o); err != nil {
					t.Log(seed, err)
					return
				}
			}
			t.Fatal("nothing was noticed")
		})
	}
}

// bytesOf are choices of a seed, for a fuzzer to begin with.
func bytesOf(seed uint64, n int) []byte {
	c, data := Random(seed, n), []byte(nil)
	for !c.Done() {
		data = append(data, byte(c.IntN(256)))
	}
	return data
}

func FuzzCredit(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(bytesOf(seed, 2000))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := Bytes(data)
		o := onCredit()
		faults := c.IntN(16)
		o.Lose, o.Crash, o.Fall, o.Flush = faults&1 != 0, faults&2 != 0, faults&4 != 0, faults&8 != 0
		o.Nodes, o.Keys, o.Credit = 1+c.IntN(4), 1+c.IntN(4), 1+int64(c.IntN(8))
		_, err := Credit(c, o)
		require.NoError(t, err)
	})
}
