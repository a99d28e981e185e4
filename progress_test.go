package tickgate_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// requireNoAllocs runs f often enough that even one allocation in hundreds of
// calls shows.
func requireNoAllocs(t *testing.T, name string, f func()) {
	t.Helper()
	require.Zero(t, testing.AllocsPerRun(1000, f), "%s allocates", name)
}

// allocSet has a slow and a fast limit on order.new, two limits on pair, and
// default.
func allocSet(t *testing.T) policy.Set {
	return policy.Set{
		policyOf(t, endpoint, "1000000/s burst=1000000"),
		policyOf(t, "slow", "1/h"),
		policyOf(t, "pair", "1000000/s name=a", "500000/s name=b"),
		policyOf(t, "none", "unlimited"),
		policyOf(t, policy.DefaultEndpoint, "1000000/s"),
	}
}

func allocGate(t *testing.T, cfg tickgate.Config) (*tickgate.Gate, *clock.Manual) {
	return gateWith(t, cfg, allocSet(t))
}

func TestG5NoAllocationsByName(t *testing.T) {
	g, c := allocGate(t, tickgate.Config{})
	long := strings.Repeat("k", 256)
	path := strings.Repeat("/unlisted", 20)
	for _, e := range []string{endpoint, "slow", "pair", "none", "unlisted", path} {
		for _, k := range []string{"k", "a-key-of-24-bytes-length", long} {
			name := fmt.Sprintf("%.10s of %d bytes, key of %d", e, len(e), len(k))
			to := g.Endpoint(e)
			requireNoAllocs(t, name+": Gate.Allow", func() { g.Allow(k, e) })
			requireNoAllocs(t, name+": Gate.AllowN", func() { g.AllowN(k, e, 2) })
			requireNoAllocs(t, name+": Gate.Take", func() { g.Take(k, e, 1) })
			requireNoAllocs(t, name+": Gate.TakeAt", func() { g.TakeAt(c.Advance(1), k, e, 1) })
			requireNoAllocs(t, name+": late", func() { g.TakeAt(c.Now()-clock.Time(time.Second), k, e, 1) })
			requireNoAllocs(t, name+": set back", func() { g.TakeAt(c.Now()-clock.Time(time.Minute), k, e, 1) })
			requireNoAllocs(t, name+": peek", func() { g.Take(k, e, 0) })
			requireNoAllocs(t, name+": too costly", func() { g.Take(k, e, 1<<40) })
			requireNoAllocs(t, name+": Endpoint.Allow", func() { to.Allow(k) })
			requireNoAllocs(t, name+": Endpoint.Take", func() { to.Take(k, 1) })
			requireNoAllocs(t, name+": Endpoint.TakeAt", func() { to.TakeAt(c.Now(), k, 1) })
		}
	}
}

// By the real clocks, which the gate reads in ways of their own.
func TestG5NoAllocationsByRealClock(t *testing.T) {
	for _, c := range []clock.Clock{clock.Default(), clock.Runtime()} {
		g, err := tickgate.New(tickgate.Config{Clock: c, Policies: allocSet(t)})
		require.NoError(t, err)
		for _, e := range []string{endpoint, "slow", "pair", "none", "unlisted"} {
			h, err := g.Handle("handled", e)
			require.NoError(t, err)
			to := g.Endpoint(e)
			for _, size := range []int{1, 8, 24, 25, 256} {
				k := strings.Repeat("k", size)
				requireNoAllocs(t, e+": Gate.Allow", func() { g.Allow(k, e) })
				requireNoAllocs(t, e+": Gate.Take", func() { g.Take(k, e, 1) })
				requireNoAllocs(t, e+": Endpoint.Allow", func() { to.Allow(k) })
				requireNoAllocs(t, e+": Endpoint.Take", func() { to.Take(k, 1) })
				requireNoAllocs(t, e+": Handle.Allow", func() { h.Allow() })
				requireNoAllocs(t, e+": Handle.Take", func() { h.Refund(h.Take(1)) })
			}
		}
		var b [24]byte
		i := int64(0)
		requireNoAllocs(t, "a name made of bytes", func() {
			i++
			name := strconv.AppendInt(b[:0], i, 10)
			g.Allow(unsafe.String(&name[0], len(name)), endpoint)
		})
	}
}

func TestG5NoAllocationsByHandle(t *testing.T) {
	g, c := allocGate(t, tickgate.Config{})
	for _, e := range []string{endpoint, "slow", "pair", "none", "unlisted"} {
		h, err := g.Handle("k", e)
		require.NoError(t, err)
		requireNoAllocs(t, e+": AllowAt", func() { h.AllowAt(c.Advance(1), 1) })
		requireNoAllocs(t, e+": Allow", func() { h.Allow() })
		requireNoAllocs(t, e+": Take", func() { h.Take(1) })
		requireNoAllocs(t, e+": TakeAt", func() { h.TakeAt(c.Now(), 1) })
		requireNoAllocs(t, e+": peek", func() { h.Take(0) })
		requireNoAllocs(t, e+": Refund", func() { h.Refund(h.Take(1)) })
		requireNoAllocs(t, e+": Refund after another", func() {
			d := h.Take(1)
			h.Allow()
			h.Refund(d)
		})
		requireNoAllocs(t, e+": Charge", func() { h.Charge(1) })
		requireNoAllocs(t, e+": Credit", func() { h.Credit(2) })
		h.Release()
		requireNoAllocs(t, e+": after Release", func() { h.Take(1) })
	}
}

func TestG5NoAllocationsInDenials(t *testing.T) {
	g, c := allocGate(t, tickgate.Config{MaxKeys: 1, OnFull: tickgate.RejectNew})
	long := strings.Repeat("k", 257)
	require.True(t, g.Allow("k", "slow"))
	h, err := g.Handle("k", "slow")
	require.NoError(t, err)
	for name, take := range map[string]func() tickgate.Reason{
		"limited":         func() tickgate.Reason { return g.Take("k", "slow", 1).Reason },
		"limited, handle": func() tickgate.Reason { return h.TakeAt(c.Now(), 1).Reason },
		"too costly":      func() tickgate.Reason { return g.Take("k", "slow", 2).Reason },
		"full":            func() tickgate.Reason { return g.Take("new", "slow", 1).Reason },
		"full, unlisted":  func() tickgate.Reason { return g.Take("new", "unlisted", 1).Reason },
		"negative":        func() tickgate.Reason { return g.Take("k", "slow", -1).Reason },
		"empty":           func() tickgate.Reason { return g.Take("", "slow", 1).Reason },
		"zero handle":     func() tickgate.Reason { return tickgate.Handle{}.Take(1).Reason },
		"zero endpoint":   func() tickgate.Reason { return tickgate.Endpoint{}.Take("k", 1).Reason },
		"over-long":       func() tickgate.Reason { return g.Take(long, "slow", 1).Reason },
	} {
		require.NotEqual(t, tickgate.OK, take(), name)
		requireNoAllocs(t, name, func() { take() })
	}
	requireNoAllocs(t, "Allow denied", func() { g.Allow("k", "slow") })
	requireNoAllocs(t, "AllowAt denied", func() { h.AllowAt(c.Now(), 1) })
}

func TestG5NoAllocationsInBatches(t *testing.T) {
	g, c := allocGate(t, tickgate.Config{})
	reqs := make([]tickgate.Request, 100)
	for i := range reqs {
		reqs[i] = tickgate.Request{
			APIKey: fmt.Sprint("key", i%30), N: int64(i % 3),
			Endpoint: []string{endpoint, "slow", "pair", "unlisted", ""}[i%5],
		}
	}
	out := make([]tickgate.Decision, len(reqs))
	requireNoAllocs(t, "TakeBatch", func() { g.TakeBatch(c.Advance(time.Microsecond), reqs, out) })
}

// Keys that nobody has seen before, short and long, listed and not: into a table
// with room, into one that evicts full keys, and into one in which everybody owes.
func TestG5NoAllocationsForNewKeys(t *testing.T) {
	const runs = 1000
	for _, shape := range []struct {
		name    string
		maxKeys int
		step    time.Duration
	}{{"room", 20_000, 0}, {"idle evicted", 100, 10 * time.Second}, {"forced out", 100, 0}} {
		for _, e := range []string{endpoint, "unlisted", strings.Repeat("u", 200)} {
			for _, size := range []int{8, 24, 25, 256} {
				g, c := allocGate(t, tickgate.Config{MaxKeys: shape.maxKeys})
				keys := make([]string, 2*runs)
				for i := range keys {
					keys[i] = fmt.Sprintf("%0*d", size, i)
				}
				i := 0
				requireNoAllocs(t, shape.name, func() {
					c.Advance(shape.step)
					if !g.Allow(keys[i], e) || !g.Take(keys[i+1], e, 1).Allowed {
						t.Error("denied")
					}
					i += 2
					i %= len(keys)
				})
				s := g.Stats()
				require.Equal(t, shape.name == "idle evicted", s.Evictions.Idle > 0)
				require.Equal(t, shape.name == "forced out", s.Evictions.Forced > 0)
			}
		}
	}
}

// The table and the arithmetic have nothing in them that could block or start
// anything: no mutex, channel, select or goroutine.
func TestG5NoBlockingInSource(t *testing.T) {
	for _, dir := range []string{"shard", "bucket"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			src, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, fault := range blocking(t, name, src) {
				t.Error(fault)
			}
		}
	}
	for _, src := range []string{
		"package p; import \"sync\"; var m sync.Mutex", "package p; func f() { go f() }",
		"package p; func f() { select {} }", "package p; var c chan int", "package p; func f(c T) { <-c }",
	} {
		require.NotEmpty(t, blocking(t, "p.go", []byte(src)), "the test does not see %q", src)
	}
}

// blocking lists what in a file could block.
func blocking(t *testing.T, name string, src []byte) (faults []string) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, 0)
	require.NoError(t, err)
	for _, i := range file.Imports {
		switch path := strings.Trim(i.Path.Value, `"`); path {
		case "sync", "context", "net", "os":
			faults = append(faults, name+" imports "+path)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		what := ""
		switch n := n.(type) {
		case *ast.GoStmt:
			what = "go"
		case *ast.SelectStmt:
			what = "select"
		case *ast.ChanType, *ast.SendStmt:
			what = "a channel"
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				what = "a channel"
			}
		}
		if what != "" {
			faults = append(faults, fmt.Sprintf("%s has %s", fset.Position(n.Pos()), what))
		}
		return true
	})
	return faults
}
