package latency

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

var update = flag.Bool("update", false, "write the golden files again")

// machine is the one that the golden files name.
var machine = Settings{
	Go: "go1.26 linux/amd64", CPU: "Some CPU", CPUs: 8, MaxProcs: 8, GOGC: "100", MemoryLimit: "off",
	Clock: "tsc", ClockReason: "the kernel trusts it",
}

// on puts a report on that machine: what is left is the same everywhere.
func (r *Report) on(m Settings) {
	m.Keys, m.DurationNS, m.Rate, m.LoadBytes, m.Pinned = r.Settings.Keys, r.Settings.DurationNS, r.Settings.Rate, r.Settings.LoadBytes, r.Settings.Pinned
	r.Settings = m
	for i := range r.Paths {
		r.Paths[i].Collections = 0
	}
}

// TestRunOfEveryPath drives the real paths under a clock that goes on by 100 ns
// with every reading, so that a path takes 100 ns for every time the gate reads
// it, and holds the report to what it was.
func TestRunOfEveryPath(t *testing.T) {
	for name, rate := range map[string]int64{"closed": 0, "paced": 1_000_000} {
		t.Run(name, func(t *testing.T) {
			var told []int
			r, err := Run(context.Background(), Options{
				Duration: MinDuration, Keys: MinKeys + 1000, Rate: rate, Clock: newStepping(100),
				Progress: func(done, total int) {
					require.Equal(t, len(Names()), total)
					told = append(told, done)
				},
			})
			require.NoError(t, err)
			require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, told)
			require.Equal(t, MinKeys+1000, r.Settings.Keys)
			for i, p := range r.Paths {
				require.Equal(t, Names()[i], p.Name)
				require.Zero(t, p.Wrong, p.Name)
				require.Zero(t, p.Allocs, p.Name)
			}
			r.on(machine)
			var b strings.Builder
			require.NoError(t, WriteText(&b, &r))
			golden(t, name+".txt", b.String())
			b.Reset()
			require.NoError(t, WriteHTML(&b, &r))
			golden(t, name+".html", b.String())

			b.Reset()
			require.NoError(t, WriteJSON(&b, &r))
			var back Report
			require.NoError(t, json.Unmarshal([]byte(b.String()), &back))
			r.wanted = 0
			require.Equal(t, r, back)
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// TestFirstSeenIsNeverAHit: every call of those paths brings its key in.
func TestFirstSeenIsNeverAHit(t *testing.T) {
	c := newStepping(25)
	r, err := newRig(Options{Keys: MinKeys, Clock: c, Paths: []string{firstFull}})
	require.NoError(t, err)
	defer r.release()
	require.Len(t, r.paths, 1)
	p := &r.paths[0]
	for range fullKeys {
		p.next()
		if p.call(c.Now()) != 1 {
			t.Fatal("denied")
		}
	}

	if testing.Short() {
		t.Skip("skipped: the same keys in a gate that can be looked at, a million calls (-short)")
	}
	// The same sequence on a gate that can be looked at.
	g, err := newGate(fullKeys, c)
	require.NoError(t, err)
	defer g.Close()
	keys := inOrder(0, fullTurns*fullKeys)
	for range 2 * fullTurns * fullKeys {
		g.Allow(keys.next(), open)
	}
	require.Zero(t, g.Stats().Hits)
}

func TestFirstSeenGetsAnEmptyGateInTime(t *testing.T) {
	c := newStepping(25)
	r, err := newRig(Options{Keys: MinKeys, Clock: c, Paths: []string{firstRoom}})
	require.NoError(t, err)
	defer r.release()
	p := &r.paths[0]
	for range 3 {
		left, err := p.ready()
		require.NoError(t, err)
		require.Equal(t, roomKeys, left)
		for range roomKeys/2 + 1 {
			p.next()
			if p.call(c.Now()) != 1 {
				t.Fatal("denied")
			}
		}
	}
}

func TestRunStopsWhenTold(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r, err := Run(ctx, Options{
		Duration: MinDuration, Keys: MinKeys, Clock: newStepping(1000),
		Progress: func(done, _ int) {
			if done == 2 {
				cancel()
			}
		},
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, r.Paths, 2, "what is complete is there")
	require.NotEmpty(t, r.Targets)
}

// TestRunUnderLoadAndPinned runs what the other tests leave out, on the real
// clock; it asserts no time.
func TestRunUnderLoadAndPinned(t *testing.T) {
	o := Options{Duration: MinDuration, Keys: MinKeys, GCLoad: true, Paths: []string{gateHot}}
	if may, err := cpus(); err == nil {
		o.CPU = &may[len(may)-1]
	}
	before, _ := cpus()
	r, err := Run(context.Background(), o)
	require.NoError(t, err)
	after, _ := cpus()
	require.Equal(t, before, after, "the thread is let go")
	require.Positive(t, r.Paths[0].Calls)
	require.Equal(t, o.CPU, r.Settings.Pinned)
	require.EqualValues(t, 64<<20, r.Settings.LoadBytes)
	require.NotEmpty(t, r.Settings.GOGC)
}

// TestHeapStaysTheSame: what the load drops can be collected.
func TestHeapStaysTheSame(t *testing.T) {
	h := newHeap(1000)
	h.step(10_500)
	reached := map[*node]bool{}
	for _, n := range h.nodes {
		for ; n != nil; n = n.last {
			reached[n] = true
		}
	}
	require.LessOrEqual(t, len(reached), len(h.nodes)+chain)
}

func TestCheckReportsEveryFault(t *testing.T) {
	cpu := 1 << 20
	err := (&Options{Duration: time.Hour, Rate: MaxRate + 1, Keys: 1, CPU: &cpu, Paths: []string{"x", gateHot, gateHot}}).Check()
	for _, want := range []string{"--duration 1h0m0s: must be 10ms to 10m0s", "--rate 5000001: ", "--keys: must be 10,000 to", "--cpu 1048576: ", `--path "x"`, "--path gate-hot: is given twice"} {
		require.ErrorContains(t, err, want)
	}
	require.Len(t, strings.Split(err.Error(), "\n"), 6)
	_, ran := Run(context.Background(), Options{})
	require.Error(t, ran)

	ok := Options{Duration: time.Second, Keys: MinKeys}
	require.NoError(t, ok.Check())
	ok.Paths = []string{gateAll}
	require.ErrorContains(t, ok.Check(), "is gate-10k with 10,000 keys")
	ok.Keys++
	require.NoError(t, ok.Check())
	ok.Rate = 99
	require.ErrorContains(t, ok.Check(), "--rate 99: at least 100 calls a second")
	ok.Rate = 100
	require.NoError(t, ok.Check())
}

func TestKeysDiffer(t *testing.T) {
	seen := map[string]bool{}
	for i := range 100_000 {
		k := key(i)
		require.Len(t, k, keyLen)
		require.False(t, seen[k])
		seen[k] = true
	}
	s := shuffled(1000)
	for range 2 {
		round := map[string]bool{}
		for range 1000 {
			round[s.next()] = true
		}
		require.Len(t, round, 1000, "each comes once before one comes again")
	}
	require.Equal(t, "0-3, 7, 9-10", ranges([]int{0, 1, 2, 3, 7, 9, 10}))
}

// TestMeasureReportsAGateThatCannotBeMade: no figure is made up.
func TestMeasureReportsAGateThatCannotBeMade(t *testing.T) {
	c, bad := newStepping(25), errors.New("no memory")
	p := c.costs(1)
	p.ready = func() (int, error) { return 0, bad }
	_, err := c.meter(0, MinDuration).measure(context.Background(), p)
	require.ErrorIs(t, err, bad)
	_, err = c.meter(0, MinDuration).allocs(p)
	require.ErrorIs(t, err, bad)
}

func TestAllocationsAreCounted(t *testing.T) {
	c := newStepping(25)
	p := c.costs(1)
	var keep *int
	plain := p.call
	p.call = func(now clock.Time) int {
		keep = new(int)
		return plain(now)
	}
	n, err := c.meter(0, MinDuration).allocs(p)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.NotNil(t, keep)
}

// TestPage: the page is well formed, and nothing in it is fetched.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "closed.html"))
	require.NoError(t, err)
	for _, word := range []string{"http:", "https:", "src=", "<script", "<link", "@import", "url("} {
		require.NotContains(t, string(text), word)
	}
	d := xml.NewDecoder(strings.NewReader(string(text)))
	d.Strict, d.Entity = true, xml.HTMLEntity
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	require.Equal(t, len(Names()), strings.Count(string(text), "<svg "))
}
