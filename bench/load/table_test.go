package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseResult(t *testing.T) {
	s, err := parseResult("Running 1s test\n  1 threads\nresult requests=1000 us=500000 bytes=133000 p50=690 p99=9510 refused=7 failed=0\n")
	require.NoError(t, err)
	require.Equal(t, sample{
		requests: 1000, took: time.Second / 2, bytes: 133000,
		p50: 690 * time.Microsecond, p99: 9510 * time.Microsecond, refused: 7,
	}, s)
	require.InDelta(t, 2000, s.perSecond(), 1e-9)
	for _, bad := range []string{
		"", "Requests/sec: 100", "result requests=1000 us=5",
		"result requests=0 us=500000 bytes=0 p50=0 p99=0 refused=0 failed=64",
	} {
		_, err := parseResult(bad)
		require.Error(t, err, bad)
	}
}

func TestMedian(t *testing.T) {
	require.InDelta(t, 3, median([]float64{9, 1, 3}), 0)
	require.InDelta(t, 2, median([]float64{9, 1, 3, 1}), 0)
}

// rates makes a series with so many requests in each second.
func rates(kind string, perSecond ...int64) series {
	s := series{kind: kind, sent: "200"}
	for _, n := range perSecond {
		s.samples = append(s.samples, sample{requests: n, took: time.Second, bytes: 100 * n, cpu: time.Duration(n) * 10 * time.Microsecond})
	}
	return s
}

// The machine is half as fast in the second round: servers are compared within a round.
func TestTheTableComparesWithinARound(t *testing.T) {
	var out bytes.Buffer
	missed := write(&out, []series{
		rates("bare", 1000, 500, 1000), rates("allow", 960, 480, 960), rates("deny", 900, 500, 900),
	})
	require.Equal(t, 1, missed)
	require.Regexp(t, `allow/bare +0\.960 \(0\.960-0\.960\) +at least 0\.95: met`, out.String())
	require.Regexp(t, `deny/allow +0\.938 \(0\.938-1\.042\) +at least 1\.00: missed`, out.String())
	require.Regexp(t, `deny/bare +0\.900 .* no target`, out.String())
	require.Contains(t, out.String(), "bare itself varied by 50 %")
	require.Regexp(t, `deny/deny-canned +not measured`, out.String())
	require.Regexp(t, `allow +960 +0\.960 .* 10\.0µs +100 +0\.1`, out.String())
}

// A server that did something else than it is there for gives no figures.
func TestATurnIsChecked(t *testing.T) {
	require.NoError(t, check("bare", &sample{requests: 100}))
	require.NoError(t, check("deny-canned", &sample{requests: 100, refused: 99}))
	require.ErrorContains(t, check("deny", &sample{requests: 100, refused: 98}), "98.0 %")
	require.ErrorContains(t, check("allow", &sample{requests: 100, refused: 1}), "refused 1")
	require.ErrorContains(t, check("allow", &sample{requests: 100, failed: 1}), "1 requests failed")
}

func TestWrongArguments(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"-serve nothing", "-serve is"},
		{"-serve bare -growth", "exclude"},
		{"-round 1500ms", "whole seconds"},
		{"-rounds 0", "-rounds is 0"},
		{"-servers allow,bare", "must begin with bare"},
		{"-servers bare,bare", "bare twice"},
		{"-servers bare,growth", `has "growth"`},
		{"-growth -callers 10 -warmup 19", "at least twice"},
		{"bare", "unexpected argument"},
		{"-nothing", "not defined"},
	} {
		var out, errs bytes.Buffer
		require.Equal(t, 2, run(context.Background(), strings.Fields(c.args), strings.NewReader(""), &out, &errs), c.args)
		require.Contains(t, errs.String(), c.says, c.args)
		require.Empty(t, out.String())
	}
}
