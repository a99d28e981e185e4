package table

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t *testing.T, text string) *Measurements {
	t.Helper()
	m := NewMeasurements()
	require.NoError(t, m.Read(strings.NewReader(text)))
	return m
}

func TestReadTakesResultsAndConditions(t *testing.T) {
	m := read(t, `go: go1.26.8
cpu: Some CPU @ 2.00GHz
pkg: example.com/x
BenchmarkFloor/op=cas/g=1-2         	  100	  3.20 ns/op	  0 B/op	  0 allocs/op
BenchmarkFloor/op=cas/g=1-2         	  100	  3.40 ns/op	  0 B/op	  0 allocs/op
    some_test.go:12: a log line
BenchmarkSeed/case=burst-100-of-100/g=1 	 10	 5000 ns/op	 100.0 admitted	 0 denied
PASS
ok  	example.com/x	1.234s
`)
	require.Equal(t, []string{"Floor/op=cas/g=1", "Seed/case=burst-100-of-100/g=1"}, m.Names)
	require.Equal(t, []float64{3.2, 3.4}, (*m.samples["Floor/op=cas/g=1"])["ns/op"])
	require.Equal(t, []float64{0, 0}, (*m.samples["Floor/op=cas/g=1"])["allocs/op"])
	admitted, ok := m.Figure("Seed/case=burst-100-of-100/g=1", "admitted")
	require.True(t, ok)
	require.EqualValues(t, 100, admitted)
	cpu, _ := m.Conditions.Get("cpu")
	require.Equal(t, "Some CPU @ 2.00GHz", cpu)
	require.Empty(t, m.Failed)
}

func TestReadPassesOverWhatIsNoResult(t *testing.T) {
	m := read(t, "BenchmarkGate\nBenchmarkGate/path=x/g=1-2 \nBenchmarkGate is a word in a sentence\n--- SKIP: BenchmarkGate/path=y/g=1\n")
	require.Empty(t, m.Names)
	require.Empty(t, m.Failed)
}

func TestReadNotesFailures(t *testing.T) {
	m := read(t, "BenchmarkGate/path=x/g=1-2  \t--- FAIL: BenchmarkGate/path=x/g=1\n    x_test.go:1: why\npanic: boom\nFAIL\nFAIL\texample.com/x\t1s\n")
	require.Equal(t, []string{"--- FAIL: BenchmarkGate/path=x/g=1", "panic: boom", "FAIL", "FAIL\texample.com/x\t1s"}, m.Failed)
}

func TestReadRefusesBrokenResults(t *testing.T) {
	for line, want := range map[string]string{
		"BenchmarkX/g=1-2 100 abc ns/op":         "line 1: BenchmarkX/g=1-2: \"abc\" is not a number",
		"BenchmarkX/g=1-2 100 1.0 ns/op 3":       "a value without a unit",
		"cpu: A\ncpu: B":                         `line 2: cpu is "B" here and "A" before`,
		"go: go1.25\ngo: go1.26":                 "one toolchain",
		"gomaxprocs: 2 of 2\ngomaxprocs: 1 of 2": "gomaxprocs",
	} {
		require.ErrorContains(t, NewMeasurements().Read(strings.NewReader(line)), want, line)
	}
}

func TestConditionsThatMayDiffer(t *testing.T) {
	m := read(t, "benchtime: 1s\nbenchtime: 200ms\npkg: a\npkg: b\n")
	v, _ := m.Conditions.Get("benchtime")
	require.Equal(t, "1s", v)
}

func TestWithoutProcs(t *testing.T) {
	for name, want := range map[string]string{
		"Floor/op=cas/g=1-2":                  "Floor/op=cas/g=1",
		"Floor/op=cas/g=1":                    "Floor/op=cas/g=1",
		"Seed/case=burst-100-of-100/g=1":      "Seed/case=burst-100-of-100/g=1",
		"Seed/case=burst-100-of-100/g=1-16":   "Seed/case=burst-100-of-100/g=1",
		"Floor-8":                             "Floor",
		"Peer/lib=xtime-syncmap/keys=1/g=2-2": "Peer/lib=xtime-syncmap/keys=1/g=2",
	} {
		require.Equal(t, want, withoutProcs(name))
	}
}

func TestField(t *testing.T) {
	const name = "Gate/path=handle-at/clock=caller/keys=10k/outcome=allow/g=2"
	require.Equal(t, "Gate", family(name))
	require.Equal(t, "handle-at", field(name, "path"))
	require.Equal(t, "2", field(name, "g"))
	require.Empty(t, field(name, "lib"))
}

func TestConditionsOfARun(t *testing.T) {
	m := read(t, "# load-before: 0.1 0.2 0.3\n# load-before: 2 2 2\n# a sentence\n")
	require.Equal(t, Conditions{{"load-before", "0.1 0.2 0.3"}}, m.Conditions)
}
