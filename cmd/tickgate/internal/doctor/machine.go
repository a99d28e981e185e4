package doctor

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// machine reads what the kernel tells about itself in files. Root is the
// file system's root; on a system without these files every answer is empty.
type machine struct{ root fs.FS }

// text returns a file's content without blanks at its ends, "" if it cannot be read.
func (m machine) text(path string) string {
	b, err := fs.ReadFile(m.root, strings.TrimPrefix(path, "/"))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}

// cpuName returns the processor's name, "" where the kernel does not tell.
func (m machine) cpuName() string {
	s := bufio.NewScanner(strings.NewReader(m.text("/proc/cpuinfo")))
	for s.Scan() {
		if name, value, ok := strings.Cut(s.Text(), ":"); ok {
			switch strings.TrimSpace(name) {
			case "model name", "Processor", "cpu model":
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}

// cacheLine returns the size of a cache line in bytes, 0 where unknown.
func (m machine) cacheLine() int {
	n, _ := strconv.Atoi(m.text("/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size"))
	return n
}

// hugePages returns when the kernel gives huge pages: always, madvise or never;
// "" where it does not tell.
func (m machine) hugePages() string {
	return chosen(m.text("/sys/kernel/mm/transparent_hugepage/enabled"))
}

// chosen returns the word in brackets, the form in which the kernel shows
// which of several settings is on.
func chosen(s string) string {
	_, s, ok := strings.Cut(s, "[")
	if !ok {
		return ""
	}
	s, _, ok = strings.Cut(s, "]")
	if !ok {
		return ""
	}
	return s
}

// memory is how much anonymous memory this process has touched, and how much
// of it lies on huge pages, in bytes.
type memory struct{ anonymous, huge int64 }

// memory reads it, and reports whether the kernel tells.
func (m machine) memory() (memory, bool) {
	text := m.text("/proc/self/smaps_rollup")
	if text == "" { // before Linux 4.14: mapping by mapping
		text = m.text("/proc/self/smaps")
	}
	var sum memory
	found := false
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, ":")
		to := &sum.anonymous
		switch name {
		case "Anonymous":
		case "AnonHugePages":
			to, found = &sum.huge, true
		default:
			continue
		}
		kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		*to += kb << 10
	}
	return sum, found
}

// clocksource returns what the kernel keeps its time by and what else it could.
func (m machine) clocksource() (current string, available []string) {
	const dir = "/sys/devices/system/clocksource/clocksource0/"
	return m.text(dir + "current_clocksource"), strings.Fields(m.text(dir + "available_clocksource"))
}

// governor returns how the first processor's frequency is chosen, "" where the
// kernel does not tell.
func (m machine) governor() string {
	return m.text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

// Memory tells when the kernel gives huge pages (always, madvise or never), how much
// anonymous memory this process has touched, and how much of that lies on huge pages,
// in bytes. What the system does not tell is zero. It costs some microseconds, or
// milliseconds before Linux 4.14.
func Memory() (setting string, anonymous, huge int64) {
	m := machine{os.DirFS("/")}
	now, _ := m.memory()
	return m.hugePages(), now.anonymous, now.huge
}
