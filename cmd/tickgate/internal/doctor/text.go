package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// WriteJSON writes the report as one indented JSON object and a line end.
func WriteJSON(w io.Writer, r *Report) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteText writes the report for a terminal, and the advice last.
func WriteText(w io.Writer, r *Report) error {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s%s\n", label, fmt.Sprintf(format, args...))
	}
	line("go", "%s", r.Go)
	line("cpu", "%s", orUnknown(r.CPU))
	line("cpus", "%d, GOMAXPROCS %d", r.CPUs, r.MaxProcs)
	if r.Governor != "" {
		line("governor", "%s", r.Governor)
	}
	if r.CacheLine > 0 {
		line("cache line", "%d bytes, padded to %d", r.CacheLine, r.Padding)
	} else {
		line("cache line", "unknown, padded to %d bytes", r.Padding)
	}
	c := &r.Clock
	line("clock", "%s: %s", c.Source, c.Reason)
	if c.Kernel != "" {
		line("", "the kernel keeps its time by %s", c.Kernel)
	}
	if c.FrequencyHz > 0 {
		line("frequency", "%.6f MHz", c.FrequencyHz/1e6)
	}
	line("drift", "%+.3f ppm against the runtime's clock over %v", c.DriftPPM, time.Duration(c.DriftOverNS))
	line("one read", "%.1f ns; the runtime's clock %.1f ns", c.ReadNS, c.RuntimeReadNS)
	line("huge pages", "%s", r.Pages.describe())
	if len(r.Advice) == 0 {
		line("advice", "nothing to change")
	}
	for i, a := range r.Advice {
		label := ""
		if i == 0 {
			label = "advice"
		}
		line(label, "%s", a)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *Pages) describe() string {
	const mib = 1 << 20
	setting := "setting " + orUnknown(p.Setting)
	switch {
	case p.Error != "":
		return setting + "; not looked at: " + p.Error
	case !p.Known:
		return setting + "; the system does not tell what a process got"
	case p.HugeBytes < hugePage:
		return fmt.Sprintf("%s; got none of %.0f MiB for a gate of %d keys", setting, float64(p.TableBytes)/mib, p.Keys)
	}
	return fmt.Sprintf("%s; got %.0f of %.0f MiB for a gate of %d keys", setting, float64(p.HugeBytes)/mib, float64(p.TableBytes)/mib, p.Keys)
}
