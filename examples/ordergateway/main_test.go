package main

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what the program prints into README.md")

// simulate runs the program's simulation.
func simulate(t *testing.T, args ...string) *simulation {
	t.Helper()
	var stderr strings.Builder
	cfg, err := parse(args, &stderr)
	require.NoError(t, err)
	s, err := newSimulation(&cfg)
	require.NoError(t, err)
	s.run()
	return s
}

// share is how much of the limit that binds was used.
func (s *simulation) binding() (best float64) {
	for _, u := range s.uses() {
		best = max(best, u.share())
	}
	return best
}

func TestNeverBanned(t *testing.T) {
	for _, seed := range []string{"1", "2", "3"} {
		s := simulate(t, "-seed", seed)
		require.Zero(t, s.breaches(), "seed %s", seed)
		require.Empty(t, s.exchange.venue.Bans(), "seed %s", seed)
		require.GreaterOrEqual(t, s.binding(), 0.97, "seed %s", seed)
		require.Zero(t, s.totals(classNew).refused)
		require.Positive(t, s.totals(classNew).denied)
		require.Positive(t, s.totals(classCancel).sent)
		require.Zero(t, s.totals(classCancel).denied, "cancels get through")
	}
}

func TestNaiveIsBanned(t *testing.T) {
	for _, seed := range []string{"1", "2", "3"} {
		s := simulate(t, "-naive", "-seed", seed)
		require.NotZero(t, s.breaches())
		require.NotEmpty(t, s.exchange.venue.Bans())
		require.Positive(t, s.totals(classNew).refused)
	}
}

// Every venue that takes orders: at full speed, never refused.
func TestEveryVenue(t *testing.T) {
	for _, name := range names() {
		span := "20s"
		if name == "revolut-fix" || name == "cme-ilink" {
			span = "7s" // hundreds of thousands of messages a minute
		}
		s := simulate(t, "-venue", name, "-for", span)
		require.Zero(t, s.breaches(), name)
		require.Empty(t, s.exchange.venue.Bans(), name)
		require.GreaterOrEqual(t, s.binding(), 0.85, name)
		require.Positive(t, s.totals(classNew).sent, name)
	}
}

// The limits of the house hold beside those of the venue.
func TestHouseLimits(t *testing.T) {
	s := simulate(t, "-firm-limit", "50/10s", "-for", "30s")
	sent := 0
	for _, class := range []string{classNew, classReplace, classCancel, classQuery} {
		sent += s.totals(class).sent
	}
	require.InDelta(t, 50+5*30, sent, 2, "burst and refill")
}

func TestSameSeedSameOutput(t *testing.T) {
	var out [2]strings.Builder
	for i := range out {
		require.Zero(t, run([]string{"-for", "20s"}, &out[i], &out[i]))
	}
	require.Equal(t, out[0].String(), out[1].String())
	require.Contains(t, out[0].String(), "breaches: 0\nbans: 0\n")
}

func TestBadUsage(t *testing.T) {
	for _, c := range []struct {
		says string
		args []string
	}{
		{"-venue x: not a venue that takes orders; write one of binance-fix", []string{"-venue", "x"}},
		{"-venue kraken-rest-pro: takes no orders; write one of", []string{"-venue", "kraken-rest-pro"}},
		{"-sessions 0: must be 1 to 64", []string{"-sessions", "0"}},
		{"-accounts 5: must be 1 to the number of sessions, 4", []string{"-accounts", "5"}},
		{"-for 0s: must be 1s to 1h", []string{"-for", "0s"}},
		{"must be 0 <= min <= max <= 1s", []string{"-delay-min", "20ms"}},
		{"-clock-error -1ns: must be 0 to 1s", []string{"-clock-error", "-1ns"}},
		{"-firm-limit 0/s:", []string{"-firm-limit", "0/s"}},
		{"unexpected argument", []string{"orders.csv"}},
		{"-help lists the flags", []string{"-speed", "9"}},
	} {
		var stdout, stderr strings.Builder
		require.Equal(t, 2, run(c.args, &stdout, &stderr), c.args)
		require.Empty(t, stdout.String())
		require.Contains(t, stderr.String(), c.says)
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
	}
	var stdout, stderr strings.Builder
	require.Equal(t, 2, run([]string{"-sessions", "0", "-for", "1ms"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "-sessions 0")
	require.Contains(t, stderr.String(), "-for 1ms", "all faults at once")
	require.Zero(t, run([]string{"-help"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "Venues: binance-fix, ")
}

// The README shows what the program prints.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	want := string(text)
	for _, args := range [][]string{{}, {"-naive"}} {
		var stdout, stderr strings.Builder
		require.Zero(t, run(args, &stdout, &stderr), stderr.String())
		command := strings.TrimSpace("$ go run ./examples/ordergateway " + strings.Join(args, " "))
		head, rest, found := strings.Cut(want, command+"\n")
		require.True(t, found, "README.md lacks a block for %q", command)
		_, tail, found := strings.Cut(rest, "```")
		require.True(t, found)
		want = head + command + "\n" + stdout.String() + "```" + tail
	}
	if *update {
		require.NoError(t, os.WriteFile("README.md", []byte(want), 0o644))
	}
	require.Equal(t, want, string(text), "go test ./examples/ordergateway -update writes it again")
}

func TestJitter(t *testing.T) {
	cfg, err := parse([]string{"-delay-min", "1ms", "-delay-max", "15ms", "-clock-error", "3ms"}, os.Stderr)
	require.NoError(t, err)
	require.Equal(t, 20*time.Millisecond, cfg.jitter())
	require.Equal(t, 18*time.Millisecond, cfg.ahead())
}
