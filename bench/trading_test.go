package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// tradingCase is a path of trading: windows, several limits, several keys. The
// time goes on by a microsecond a call, and the limits admit more than that: what
// is measured is an admission.
type tradingCase struct {
	path   string
	limits []string
	keys   int // joined
}

var tradingCases = []tradingCase{
	{"one-limit", []string{"2000000/s"}, 1},
	{"two-limits", []string{"2000000/s", "200000000/m"}, 1},
	{"six-limits", []string{"2000000/s", "200000000/m", "9000/ms", "3000000/s", "4000000/s", "5000000/s"}, 1},
	{"aligned", []string{"2000000/s aligned"}, 1},
	// A window of more than some thousand tokens ends up to a quantum late and
	// admits nothing meanwhile; this one has an end that is exact.
	{"from-first", []string{"2000/ms from-first"}, 1},
	{"rolling-10", []string{"10/8us rolling"}, 1},
	{"rolling-1000", []string{"1000/900us rolling"}, 1},
	{"rate-and-rolling", []string{"2000000/s", "10/8us rolling"}, 1},
	{"join-3", []string{"2000000/s"}, 3},
	{"join-3-aligned", []string{"2000000/s aligned"}, 3},
}

// benchmarkTrading measures the paths of trading; the table divides them by the
// first one.
func benchmarkTrading(b *testing.B) {
	for _, c := range tradingCases {
		b.Run("path="+c.path+"/clock=caller/keys=1/outcome=allow/g=1", func(b *testing.B) {
			allow := c.open(b)
			now := clock.Time(time.Hour)
			denied := 0
			b.ReportAllocs()
			for b.Loop() {
				now += 1000
				if !allow(now, 1) {
					denied++
				}
			}
			if denied > 0 {
				b.Fatalf("%d of %d calls were denied", denied, b.N)
			}
		})
	}
}

// open makes a gate for the case and returns its call.
func (c tradingCase) open(tb testing.TB) func(clock.Time, int64) bool {
	tb.Helper()
	p := policy.Policy{Endpoint: endpointName}
	for _, text := range c.limits {
		l, err := policy.ParseLimit(text)
		if err != nil {
			tb.Fatal(err)
		}
		p.Limits = append(p.Limits, l)
	}
	g, err := tickgate.New(tickgate.Config{Policies: policy.Set{p}, Clock: runtimeClock()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { closeGate(tb, g) })
	var handles []tickgate.Handle
	for _, key := range []string{"session-0001", "account-0001", "firm"}[:c.keys] {
		h, err := g.Handle(key, endpointName)
		if err != nil {
			tb.Fatal(err)
		}
		handles = append(handles, h)
	}
	if c.keys == 1 {
		return handles[0].AllowAt
	}
	group, err := tickgate.Join(handles...)
	if err != nil {
		tb.Fatal(err)
	}
	return group.AllowAt
}

// TestTradingPathsAdmitEveryCall makes the calls of the benchmarks beyond the end
// of the longest window that a run goes through many times.
func TestTradingPathsAdmitEveryCall(t *testing.T) {
	const calls = 1_100_000 // a microsecond each, past a window of a second
	for _, c := range tradingCases {
		t.Run(c.path, func(t *testing.T) {
			allow, now, denied := c.open(t), clock.Time(time.Hour), 0
			for range calls {
				now += 1000
				if !allow(now, 1) {
					denied++
				}
			}
			require.Zero(t, denied)
		})
	}
}
