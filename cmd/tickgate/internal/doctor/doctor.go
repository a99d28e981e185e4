// Package doctor looks at the machine a gate is to run on: which clock it
// would use and why, what a look at it costs, whether large pages are to be
// had, and what to change.
package doctor

import (
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/internal/pad"
)

// Keys is the size of the gate whose memory is looked at.
const Keys = 1 << 20

// Report is what was found. Fields the system does not tell are zero.
type Report struct {
	Go        string   `json:"go"` // version, system and architecture
	CPU       string   `json:"cpu"`
	CPUs      int      `json:"cpus"`       // usable by this process
	MaxProcs  int      `json:"gomaxprocs"` // of them used by Go
	Governor  string   `json:"frequency_governor,omitempty"`
	CacheLine int      `json:"cache_line_bytes"`
	Padding   int      `json:"padding_bytes"` // what the build keeps apart
	Build     []string `json:"build_flags"`   // those that cost speed
	Clock     Clock    `json:"clock"`
	Pages     Pages    `json:"pages"`
	// Advice is what to change, most urgent first; empty where nothing is off.
	Advice []string `json:"advice"`
}

// Clock is the clock a gate uses where none is given.
type Clock struct {
	Source        string   `json:"source"` // tsc or runtime
	Reason        string   `json:"reason"`
	Kernel        string   `json:"kernel_clocksource,omitempty"`
	Available     []string `json:"kernel_clocksources_available,omitempty"`
	FrequencyHz   float64  `json:"frequency_hz,omitempty"`
	DriftPPM      float64  `json:"drift_ppm"` // against the runtime's clock
	DriftOverNS   int64    `json:"drift_over_ns"`
	ReadNS        float64  `json:"read_ns"`         // median cost of one reading
	RuntimeReadNS float64  `json:"runtime_read_ns"` // the same of the runtime's clock
}

// Pages is what the table of a gate of Keys keys lies on.
type Pages struct {
	Setting string `json:"transparent_huge_pages,omitempty"` // always, madvise, never
	Keys    int    `json:"keys"`
	Known   bool   `json:"known"` // the system tells the two below
	// What the process gained by making the table and touching all of it, and
	// how much of that lies on huge pages.
	TableBytes int64  `json:"table_bytes"`
	HugeBytes  int64  `json:"huge_bytes"`
	Error      string `json:"error,omitempty"`
}

// Options say how to look. The zero value looks at this machine.
type Options struct {
	Root    fs.FS         // root of the file system; nil: this machine's
	Measure time.Duration // how long the drift is measured; at least 1 ms
}

// Examine looks at the machine. It takes Measure and about half a second more,
// and for that time the memory of a gate of Keys keys.
func Examine(o Options) Report {
	if o.Root == nil {
		o.Root = os.DirFS("/")
	}
	m := machine{o.Root}
	r := Report{
		Go:        runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		CPU:       m.cpuName(),
		CPUs:      runtime.NumCPU(),
		MaxProcs:  runtime.GOMAXPROCS(0),
		Governor:  m.governor(),
		CacheLine: m.cacheLine(),
		Padding:   pad.LineSize,
		Build:     slowBuild(),
		Clock:     examineClock(m, o.Measure),
		Pages:     examinePages(m),
	}
	r.Advice = r.advise()
	return r
}

func examineClock(m machine, over time.Duration) Clock {
	c := clock.Default()
	var out Clock
	out.Kernel, out.Available = m.clocksource()
	out.DriftPPM = clock.Drift(c, over)
	out.DriftOverNS = int64(over)
	d := clock.Describe() // after the measurement, when its frequency is better known
	out.Source, out.Reason, out.FrequencyHz = d.Name, d.Reason, d.Frequency
	out.ReadNS = readCost(c)
	out.RuntimeReadNS = readCost(clock.Runtime())
	return out
}

// readCost returns the median cost of one reading over several loops, in ns:
// the median, because a loop that was interrupted says nothing.
func readCost(c clock.Clock) float64 {
	const loops, reads = 15, 20_000
	costs := make([]float64, loops)
	for i := range costs {
		start := time.Now()
		for range reads {
			c.Now()
		}
		costs[i] = float64(time.Since(start)) / reads
	}
	slices.Sort(costs)
	return costs[loops/2]
}

// examinePages makes a gate, touches all of its table and looks at what the
// process gained.
func examinePages(m machine) Pages {
	p := Pages{Setting: m.hugePages(), Keys: Keys}
	before, known := m.memory()
	g, err := tickgate.New(tickgate.Config{MaxKeys: Keys, Clock: clock.NewManual(0)})
	if err != nil {
		p.Error = err.Error()
		return p
	}
	defer g.Close()
	// A page is given when its first byte is touched. Keys fall at random places:
	// this many leave hardly a page out, of either size.
	var key [24]byte
	for i := range int64(Keys / 4) {
		g.TakeAt(0, string(strconv.AppendInt(key[:0], i, 36)), "doctor", 1)
	}
	after, _ := m.memory()
	p.Known = known
	p.TableBytes = max(0, after.anonymous-before.anonymous)
	p.HugeBytes = max(0, after.huge-before.huge)
	return p
}

// slowBuild returns the build's settings that cost speed.
func slowBuild() []string {
	out := []string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return out
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "-race" && s.Value == "true", s.Key == "-tags" && s.Value != "", s.Key == "-gcflags" && s.Value != "":
			out = append(out, s.Key+"="+s.Value)
		}
	}
	return out
}
