package main

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShortReport(t *testing.T) {
	o, err := parse([]string{"-short", "-nodes", "2,8"}, io.Discard)
	require.NoError(t, err)
	var text, again strings.Builder
	require.NoError(t, o.run(t, &text, io.Discard))
	require.Regexp(t, `(?m)^ +2 +100 +100 +\d+ / 0 / \d+ +1\.\d\d\d / `, text.String())
	require.Regexp(t, `(?m)^ +8 +25 +175 +1\d\d / 0 / \d+ +1\.\d\d\d / `, text.String())
	require.Equal(t, 3, strings.Count(text.String(), "nodes  "), "three tables")
	require.NoError(t, o.run(t, &again, io.Discard))
	alike(t, text.String(), again.String())
}

// alike asserts that two reports say the same, but for the last digit of a figure: of
// goroutines that wake at one time, any may be the first.
func alike(t *testing.T, a, b string) {
	one, other := strings.Fields(a), strings.Fields(b)
	require.Len(t, other, len(one))
	for i, was := range one {
		if was == other[i] {
			continue
		}
		x, unit := number(was)
		y, same := number(other[i])
		require.Equal(t, unit, same, "%q and %q in\n%s", was, other[i], a)
		require.InDelta(t, x, y, max(1, x/50), "%q and %q in\n%s", was, other[i], a)
	}
}

// number splits a figure from its unit.
func number(s string) (n float64, unit string) {
	digits := strings.TrimRightFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, s
	}
	return n, s[len(digits):]
}

func TestMarkdown(t *testing.T) {
	var out strings.Builder
	table := memoryTable([]int{8, 1000})
	table.write(&out, true)
	require.Regexp(t, `(?m)^\| 1 \| \d+ \| \d+ \|$`, out.String())
	require.Regexp(t, `(?m)^\| 1000 \| \d+ \| \d+ \|$`, out.String())
}

func TestArgumentsReportEveryFault(t *testing.T) {
	_, err := parse([]string{"-nodes", "1,x", "-credit", "-1", "more"}, io.Discard)
	require.EqualError(t, err, "unexpected argument \"more\"\n-credit -1: must be 0 to 1000\n"+
		"-nodes 1: must be 2 to 12000\n-nodes x: must be 2 to 12000")
	o, err := parse([]string{"-short"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []int{2, 8, 32}, o.nodes)
	require.EqualValues(t, 6, o.scenes(32)[0].Credit)
	require.EqualValues(t, 1, o.scenes(1000)[0].Credit)
}
