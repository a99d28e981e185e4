package doctor

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// driftBound is what the clock may be wrong by, in ppm.
	driftBound = 10
	// slowRead is a reading that has cost a system call, in ns.
	slowRead = 150
	// hugePage is the size of one on the processors the gate asks them of.
	hugePage = 2 << 20
)

// advise says what to change. It says nothing about what is as it should be.
func (r *Report) advise() []string {
	out := []string{}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, flag := range r.Build {
		switch {
		case flag == "-race=true":
			add("this build has the race detector on, which makes decisions many times slower: build without -race")
		case strings.Contains(flag, "invariants"):
			add("this build checks invariants in every decision: build without -tags invariants")
		case strings.Contains(flag, "purego"):
			add("this build has no assembly and therefore no TSC clock: build without -tags purego")
		case strings.HasPrefix(flag, "-gcflags"):
			add("this build has compiler flags (%s) that may turn optimisation off: build without them", flag)
		}
	}
	r.adviseClock(add)
	r.advisePages(add)
	if r.MaxProcs > r.CPUs {
		add("GOMAXPROCS is %d on %d CPUs: goroutines take turns inside a decision; set it to %d or leave it unset", r.MaxProcs, r.CPUs, r.CPUs)
	} else if r.MaxProcs < r.CPUs {
		add("GOMAXPROCS is %d of %d CPUs, by the variable or by a container's CPU quota: under a quota the kernel stops the whole process when it is used up; give the container whole CPUs if latency matters", r.MaxProcs, r.CPUs)
	}
	if r.Governor != "" && r.Governor != "performance" {
		add("CPU frequency governor is %q: the clock speed drops between bursts; as root: cpupower frequency-set -g performance", r.Governor)
	}
	if r.CacheLine > r.Padding && r.Padding > 0 {
		add("cache lines are %d bytes but this build keeps data only %d apart, so that CPUs disturb each other: report it with the CPU's name", r.CacheLine, r.Padding)
	}
	return out
}

func (r *Report) adviseClock(add func(string, ...any)) {
	c := &r.Clock
	if c.Source != "tsc" && c.Kernel != "" && c.Kernel != "tsc" && c.Kernel != "arch_sys_counter" {
		if slices.Contains(c.Available, "tsc") {
			add("the kernel keeps its time by %s although it offers tsc: if the CPU's counter is invariant, as root: echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource (for good: boot with clocksource=tsc)", c.Kernel)
		} else {
			add("the kernel keeps its time by %s and does not offer tsc: dmesg | grep -i tsc says why; on a virtual machine ask for one with an invariant TSC", c.Kernel)
		}
	}
	if c.DriftPPM > driftBound || c.DriftPPM < -driftBound {
		add("the clock ran %+.1f ppm against the runtime's, more than %d: a time daemon may be correcting the kernel's clock; run doctor again with --measure 10s", c.DriftPPM, driftBound)
	}
	if c.ReadNS > slowRead {
		add("a look at the clock costs %.0f ns, as much as a system call: the kernel's clocksource (%s) cannot be read by programs; use one that can, or give the gate a coarse clock", c.ReadNS, orUnknown(c.Kernel))
	}
}

func (r *Report) advisePages(add func(string, ...any)) {
	p := &r.Pages
	switch {
	case p.Error != "":
		add("a gate of %d keys could not be made: %s", p.Keys, p.Error)
	case !p.Known || p.HugeBytes >= hugePage:
	case p.Setting == "never":
		add("transparent huge pages are off: large tables cost more address look-ups; as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
	case p.Setting != "":
		add("huge pages are set to %q but none were given: free memory may be in pieces; as root: echo 1 > /proc/sys/vm/compact_memory, then run doctor again", p.Setting)
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
