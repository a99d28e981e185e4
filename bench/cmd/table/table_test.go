package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const output = `go: go1.26.8
cpu: Some CPU
BenchmarkFloor/op=cas/g=1-2 10 3.0 ns/op 0 B/op 0 allocs/op
BenchmarkGate/path=handle-at/clock=caller/keys=1/outcome=allow/g=1-2 10 6.4 ns/op 0 B/op 0 allocs/op
`

func TestFailuresInTheInputGiveStatus1(t *testing.T) {
	var out, fault bytes.Buffer
	require.Equal(t, 1, run(nil, strings.NewReader(output+"FAIL\n"), &out, &fault))
	require.Equal(t, "table: failed in the input: FAIL\n", fault.String())
	require.Contains(t, out.String(), "2.13")
}

func TestMarkdown(t *testing.T) {
	var out, fault bytes.Buffer
	require.Equal(t, 0, run([]string{"-md"}, strings.NewReader(output), &out, &fault), fault.String())
	require.Contains(t, out.String(), "| handle-at | 1 | allow |")
}

func TestRunReadsSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, ns := range []string{"10", "30", "20"} {
		name := filepath.Join(dir, fmt.Sprint(i))
		require.NoError(t, os.WriteFile(name, []byte("cpu: A\nBenchmarkFloor/op=add/g=1-2 5 "+ns+" ns/op\n"), 0o600))
		files = append(files, name)
	}
	var out, fault bytes.Buffer
	require.Equal(t, 0, run(files, nil, &out, &fault), fault.String())
	require.Regexp(t, `(?m)^floor add +1 +20 +50%`, out.String())
	require.Contains(t, out.String(), "at least 3 samples")
}

func TestRunRefusesWhatItCannotUse(t *testing.T) {
	for _, c := range []struct {
		args   []string
		in     string
		status int
		want   string
	}{
		{nil, "", 1, "no benchmark result"},
		{nil, "PASS\n", 1, "no benchmark result"},
		{[]string{"/does/not/exist"}, "", 1, "no such file"},
		{nil, "cpu: A\ncpu: B\n", 1, "one machine"},
		{[]string{"-what"}, "", 2, "-what"},
		{[]string{"-strict"}, output, 1, ""},
	} {
		var out, fault bytes.Buffer
		require.Equal(t, c.status, run(c.args, strings.NewReader(c.in), &out, &fault), "%v", c)
		require.Contains(t, fault.String(), c.want)
	}
}

func TestVerboseRepeatsTheInput(t *testing.T) {
	var out, fault bytes.Buffer
	require.Equal(t, 0, run([]string{"-v"}, strings.NewReader(output), &out, &fault))
	require.Equal(t, output, fault.String())
}
