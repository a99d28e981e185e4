package latency

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"

	"github.com/tickgate/tickgate/clock"
)

// Settings are what the figures depend on beside the code.
type Settings struct {
	Go          string `json:"go"`            // version, system and architecture
	CPU         string `json:"cpu,omitempty"` // where the system tells
	CPUs        int    `json:"cpus"`          // usable by this process
	MaxProcs    int    `json:"gomaxprocs"`
	Pinned      *int   `json:"pinned_cpu"`    // null: the thread may move
	GOGC        string `json:"gogc"`          // percent, or off
	MemoryLimit string `json:"gomemlimit"`    // bytes, or off
	LoadBytes   int64  `json:"gc_load_bytes"` // live heap that is collected meanwhile; 0: none
	Clock       string `json:"clock"`         // tsc or runtime
	ClockReason string `json:"clock_reason"`
	Keys        int    `json:"live_keys"` // held by the gate, as it counts them
	DurationNS  int64  `json:"duration_ns"`
	Rate        int64  `json:"rate_per_second"` // 0: closed loop
}

func settings(o *Options, live int) Settings {
	source := clock.Describe()
	s := Settings{
		Go:  runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		CPU: cpuName(), CPUs: runtime.NumCPU(), MaxProcs: runtime.GOMAXPROCS(0), Pinned: o.CPU,
		GOGC: setting("/gc/gogc:percent", math.MaxUint64), MemoryLimit: setting("/gc/gomemlimit:bytes", math.MaxInt64),
		Clock: source.Name, ClockReason: source.Reason,
		Keys: live, DurationNS: int64(o.Duration), Rate: o.Rate,
	}
	if o.GCLoad {
		s.LoadBytes = loadNodes * nodeBytes
	}
	return s
}

// setting reads one of the runtime's settings; none is its value for off.
func setting(name string, none uint64) string {
	n := counter(name)
	if n == none {
		return "off"
	}
	return strconv.FormatUint(n, 10)
}

// collections returns how many garbage collections the process has done.
func collections() uint64 { return counter("/gc/cycles/total:gc-cycles") }

func counter(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return s[0].Value.Uint64()
}

// cpuName returns the processor's name, "" where the system does not tell.
func cpuName() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
