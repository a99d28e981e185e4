package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// A short run violates nothing, and everything that it is about took place.
func TestSoak(t *testing.T) {
	length := "15s"
	if testing.Short() {
		length = "3s"
	}
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"-length", length, "-keys", "20000"}, &stdout, &stderr), "%s%s", &stdout, &stderr)
	t.Log("\n" + stdout.String())
	for _, line := range strings.Split(stdout.String(), "\n") {
		for _, what := range []string{"decisions", "evictions", "Apply", "judged keys", "waits", "takes by groups", "blocks", "shared budgets", "budgets in Redis"} {
			if strings.HasPrefix(line, what) {
				if strings.Contains(line, "not run: ") {
					continue
				}
				numbers := strings.FieldsFunc(strings.TrimPrefix(line, what), func(r rune) bool { return r < '0' || r > '9' })
				require.NotEmpty(t, numbers, line)
				require.NotEqual(t, "0", numbers[0], line)
			}
		}
	}
	require.Contains(t, stdout.String(), "nothing was violated")
}

func TestArguments(t *testing.T) {
	for args, says := range map[string]string{
		"extra": "unexpected argument", "-length 1s": "-length must be", "-keys 10": "-keys 1000", "-fast": "not defined",
	} {
		var stderr bytes.Buffer
		require.Equal(t, 2, run(strings.Fields(args), io.Discard, &stderr), args)
		require.Contains(t, stderr.String(), says)
	}
	require.Zero(t, run([]string{"-help"}, io.Discard, io.Discard))
}

// Whoever admits one token too many is found, whoever admits all there is is not.
func TestJudge(t *testing.T) {
	const second = clock.Time(time.Second)
	var f faults
	j := newJudge("key", 10, time.Second, 5)
	for n := range clock.Time(3) {
		j.sees(1+n*second, 1+n*second, 5, true, &f)
	}
	require.Empty(t, f.all())
	j.sees(1+2*second+second/10, 1+2*second+second/10, 1, true, &f)
	j.sees(1+2*second+second/10, 1+2*second+second/10, 1, false, &f)
	require.Empty(t, f.all())
	j.sees(1+2*second+second/10, 1+2*second+second/10, 1, true, &f)
	require.Len(t, f.all(), 1)
}

func TestBook(t *testing.T) {
	b := new(book)
	b.add(10, 0)
	b.add(-4, 0.5)
	require.NoError(t, b.holds(6, 0, 0))
	require.NoError(t, b.holds(4, 2, 0))
	require.NoError(t, b.holds(7, 0, 0))
	require.NoError(t, b.holds(9, 0, 3))
	require.ErrorContains(t, b.holds(4, 0, 3), "6 that were kept")
	require.ErrorContains(t, b.holds(9, 0, 0), "6 were kept")
}

func TestFlat(t *testing.T) {
	v := newWatch(&world{plan: plan{length: 100 * time.Second}})
	for i := range 100 {
		v.at = append(v.at, float64(i))
		v.rss = append(v.rss, float64(100<<20+i%7<<20))
	}
	v.flat()
	require.Empty(t, v.w.all())
	for i := range v.rss {
		v.rss[i] += float64(i << 20)
	}
	v.flat()
	require.Len(t, v.w.all(), 1)
}

func TestFaultsAreCounted(t *testing.T) {
	var f faults
	for i := range mostFaults + 3 {
		f.add("%d", i)
	}
	require.Len(t, f.all(), mostFaults+1)
	require.Equal(t, fmt.Sprintf("and %d more", 3), f.all()[mostFaults])
	var out bytes.Buffer
	report(&out, nil, f.all())
	require.Contains(t, out.String(), "VIOLATED")
}
