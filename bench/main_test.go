package bench

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
)

// TestMain prints the conditions of a run of benchmarks as configuration lines
// ("key: value"), which cmd/table and benchstat both read.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.bench"); f != nil && f.Value.String() != "" {
		fmt.Printf("go: %s\n", runtime.Version())
		fmt.Printf("gomaxprocs: %d of %d\n", runtime.GOMAXPROCS(0), runtime.NumCPU())
		if t := flag.Lookup("test.benchtime"); t != nil {
			fmt.Printf("benchtime: %s\n", t.Value)
		}
		if s, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource"); err == nil {
			fmt.Printf("clocksource: %s\n", bytes.TrimSpace(s))
		}
	}
	os.Exit(m.Run())
}
