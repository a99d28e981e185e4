package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/tickgate/tickgate/bench/internal/table"
	"github.com/tickgate/tickgate/clock"
)

// describe says what the figures depend on, as far as this system tells.
func describe(p plan) table.Conditions {
	var all table.Conditions
	add := func(key, value string) {
		if value = strings.TrimSpace(value); value != "" {
			all = append(all, table.Condition{Key: key, Value: value})
		}
	}
	add("goos", runtime.GOOS)
	add("goarch", runtime.GOARCH)
	add("pkg", module)
	cpu := cpuinfo(text("/proc/cpuinfo"))
	add("cpu", cpu["model name"])
	if cpu["cpu family"] != "" {
		add("cpu-model", fmt.Sprintf("family %s model %s stepping %s", cpu["cpu family"], cpu["model"], cpu["stepping"]))
	}
	if strings.Contains(" "+cpu["flags"]+" ", " hypervisor ") {
		add("virtual", "yes")
	}
	add("kernel", text("/proc/sys/kernel/osrelease"))
	add("go", runtime.Version())
	add("gomaxprocs", fmt.Sprintf("%d of %d", runtime.GOMAXPROCS(0), runtime.NumCPU()))
	add("gogc", cmp.Or(os.Getenv("GOGC"), "100"))
	add("gomemlimit", os.Getenv("GOMEMLIMIT"))
	add("clocksource", text("/sys/devices/system/clocksource/clocksource0/current_clocksource"))
	add("clock", ownClock())
	add("hugepages", chosen(text("/sys/kernel/mm/transparent_hugepage/enabled")))
	add("governor", text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))
	add("benchtime", p.benchtime())

	add("date", time.Now().UTC().Format(time.RFC3339))
	add("commit", commit())
	if p.quick {
		add("mode", "quick")
	}
	add("load-before", loadAverage())
	return all
}

// text is the content of a file, empty where there is none.
func text(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// cpuinfo are the fields of the first processor.
func cpuinfo(text string) map[string]string {
	first, _, _ := strings.Cut(text, "\n\n")
	fields := map[string]string{}
	for line := range strings.Lines(first) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			fields[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return fields
}

// chosen is the word in brackets: "always [madvise] never" is madvise.
func chosen(text string) string {
	_, rest, found := strings.Cut(text, "[")
	word, _, closed := strings.Cut(rest, "]")
	if !found || !closed {
		return text
	}
	return word
}

// ownClock says whether a gate may read the time from the processor's counter.
func ownClock() string {
	if _, err := clock.NewTSC(); err != nil {
		return "runtime: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return "the processor's counter"
}

// commit names the code, and says whether the files differ from it.
func commit() string {
	id, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return ""
	}
	changed, err := exec.Command("git", "status", "--porcelain").Output()
	if err == nil && len(changed) > 0 {
		return strings.TrimSpace(string(id)) + ", and changes since"
	}
	return strings.TrimSpace(string(id))
}

// loadAverage is the kernel's average over 1, 5 and 15 minutes.
func loadAverage() string {
	fields := strings.Fields(text("/proc/loadavg"))
	return strings.Join(fields[:min(3, len(fields))], " ")
}

// warnings say why the figures are not to be trusted.
func warnings(c table.Conditions) []string {
	var all []string
	if mode, _ := c.Get("mode"); mode == "quick" {
		all = append(all, "This was a quick run, for trying: one short sample of each. Its figures are no measurement.")
	}
	if before, ok := c.Get("load-before"); ok {
		minute, _, _ := strings.Cut(before, " ")
		if v, err := strconv.ParseFloat(minute, 64); err == nil && v > busy {
			all = append(all, fmt.Sprintf("The machine was not idle before: its load average over a minute was %s. Figures are higher, and ratios are not to be trusted.", minute))
		}
	}
	return all
}

// busy is the load average above which something else was running.
const busy = 0.5
