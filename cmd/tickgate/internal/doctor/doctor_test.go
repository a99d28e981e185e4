package doctor

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

var files = fstest.MapFS{
	"proc/cpuinfo":           file("processor\t: 0\nmodel name\t: Some CPU @ 2.30GHz\nflags\t\t: fpu\n"),
	"proc/self/smaps_rollup": file("1-2 ---p 0 00:00 0 [rollup]\nRss: 10 kB\nAnonymous:  5 kB\nAnonHugePages:      4096 kB\n"),
	"sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size":      file("64\n"),
	"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":              file("powersave\n"),
	"sys/kernel/mm/transparent_hugepage/enabled":                        file("always [madvise] never\n"),
	"sys/devices/system/clocksource/clocksource0/current_clocksource":   file("kvm-clock\n"),
	"sys/devices/system/clocksource/clocksource0/available_clocksource": file("tsc kvm-clock acpi_pm\n"),
}

func TestMachine(t *testing.T) {
	m := machine{files}
	require.Equal(t, "Some CPU @ 2.30GHz", m.cpuName())
	require.Equal(t, 64, m.cacheLine())
	require.Equal(t, "madvise", m.hugePages())
	require.Equal(t, "powersave", m.governor())
	mem, known := m.memory()
	require.True(t, known)
	require.Equal(t, memory{anonymous: 5 << 10, huge: 4 << 20}, mem)
	current, available := m.clocksource()
	require.Equal(t, "kvm-clock", current)
	require.Equal(t, []string{"tsc", "kvm-clock", "acpi_pm"}, available)
}

// TestSmapsWithoutRollup: older kernels list the mappings one by one.
func TestSmapsWithoutRollup(t *testing.T) {
	mem, known := machine{fstest.MapFS{"proc/self/smaps": file("a\nAnonHugePages: 2048 kB\nb\nAnonHugePages: 0 kB\nc\nAnonHugePages: 4096 kB\n")}}.memory()
	require.True(t, known)
	require.Equal(t, memory{huge: 6 << 20}, mem)
}

// TestMachineThatTellsNothing: no file, no answer, no fault.
func TestMachineThatTellsNothing(t *testing.T) {
	m := machine{fstest.MapFS{}}
	require.Empty(t, m.cpuName())
	require.Zero(t, m.cacheLine())
	require.Empty(t, m.hugePages())
	_, known := m.memory()
	require.False(t, known)
}

// sound is a machine with nothing to change.
func sound() Report {
	return Report{
		CPUs: 8, MaxProcs: 8, Governor: "performance", CacheLine: 64, Padding: 64,
		Clock: Clock{Source: "tsc", Kernel: "tsc", Available: []string{"tsc"}, ReadNS: 13, DriftPPM: .1},
		Pages: Pages{Setting: "madvise", Keys: Keys, HugeBytes: 128 << 20, Known: true},
	}
}

func TestAdvice(t *testing.T) {
	r := sound()
	require.Empty(t, r.advise())
	for name, c := range map[string]struct {
		spoil  func(*Report)
		advice string
	}{
		"race":          {func(r *Report) { r.Build = []string{"-race=true"} }, "build without -race"},
		"invariants":    {func(r *Report) { r.Build = []string{"-tags=invariants"} }, "without -tags invariants"},
		"purego":        {func(r *Report) { r.Build = []string{"-tags=purego"} }, "without -tags purego"},
		"not optimised": {func(r *Report) { r.Build = []string{"-gcflags=all=-N -l"} }, "-gcflags=all=-N -l"},
		"clock offered": {func(r *Report) {
			r.Clock.Source, r.Clock.Kernel, r.Clock.Available = "runtime", "kvm-clock", []string{"tsc", "kvm-clock"}
		}, "echo tsc > "},
		"clock not offered": {func(r *Report) {
			r.Clock.Source, r.Clock.Kernel, r.Clock.Available = "runtime", "hpet", []string{"hpet"}
		}, "dmesg | grep -i tsc"},
		"drift":      {func(r *Report) { r.Clock.DriftPPM = -12.3 }, "-12.3 ppm"},
		"slow clock": {func(r *Report) { r.Clock.ReadNS = 900 }, "costs 900 ns"},
		"no pages":   {func(r *Report) { r.Pages.HugeBytes, r.Pages.Setting = 0, "never" }, "echo madvise > "},
		"in pieces":  {func(r *Report) { r.Pages.HugeBytes = 0 }, "compact_memory"},
		"no gate":    {func(r *Report) { r.Pages.Error = "out of memory" }, "out of memory"},
		"too many":   {func(r *Report) { r.MaxProcs = 16 }, "set it to 8"},
		"too few":    {func(r *Report) { r.MaxProcs = 2 }, "quota"},
		"governor":   {func(r *Report) { r.Governor = "powersave" }, "cpupower"},
		"wide lines": {func(r *Report) { r.CacheLine = 128 }, "128 bytes"},
	} {
		r := sound()
		c.spoil(&r)
		require.Len(t, r.advise(), 1, name)
		require.Contains(t, r.advise()[0], c.advice, name)
	}
}

// TestAdviceIsSilentAboutTheUnknown: a system that tells nothing is not a
// system with a fault.
func TestAdviceIsSilentAboutTheUnknown(t *testing.T) {
	r := Report{CPUs: 4, MaxProcs: 4, Padding: 64, Clock: Clock{Source: "runtime", ReadNS: 35}, Pages: Pages{Keys: Keys}}
	require.Empty(t, r.advise())
}

func TestWrite(t *testing.T) {
	r := sound()
	r.Go, r.CPU = "go1.26 linux/amd64", "Some CPU"
	r.Clock.Reason, r.Clock.FrequencyHz, r.Clock.DriftOverNS, r.Clock.RuntimeReadNS = "the kernel trusts it", 2.3e9, 1e9, 35
	r.Pages.TableBytes = 130 << 20
	var b strings.Builder
	require.NoError(t, WriteText(&b, &r))
	require.Equal(t, `go          go1.26 linux/amd64
cpu         Some CPU
cpus        8, GOMAXPROCS 8
governor    performance
cache line  64 bytes, padded to 64
clock       tsc: the kernel trusts it
            the kernel keeps its time by tsc
frequency   2300.000000 MHz
drift       +0.100 ppm against the runtime's clock over 1s
one read    13.0 ns; the runtime's clock 35.0 ns
huge pages  setting madvise; got 128 of 130 MiB for a gate of 1048576 keys
advice      nothing to change
`, b.String())

	b.Reset()
	require.NoError(t, WriteJSON(&b, &r))
	var back Report
	require.NoError(t, json.Unmarshal([]byte(b.String()), &back))
	require.Equal(t, r.Clock, back.Clock)
	require.Equal(t, r.Pages, back.Pages)
}
