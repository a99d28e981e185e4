package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tickgate/tickgate/bench/internal/table"
)

// oneLimit is the floor of the paths of trading.
const oneLimit = "one limit"

// sections are the plots of the report. One without figures is left out.
func sections(t table.Table) []section {
	all := []section{{
		Title: "Targets and floors", Text: "Each figure divided by its bound, where what reaches beyond the line is missed; and by its floor.",
		Plots: []*plot{targetPlot(t), floorPlot(t)},
	}}
	for _, s := range []struct{ title, outcome, g string }{
		{"Allowed, one goroutine", "allow", "1"},
		{"Allowed, two goroutines", "allow", "2"},
		{"Denied, one goroutine", "deny", "1"},
		{"Denied, two goroutines", "deny", "2"},
	} {
		var plots []*plot
		for _, keys := range []string{"1", "10k", "1M"} {
			plots = append(plots, loadPlot(t, keys, s.outcome, s.g))
		}
		all = append(all, section{Title: s.title, Text: "What a call costs its caller, least first.", Plots: plots})
	}
	all = append(all,
		section{Title: "Other paths of tickgate", Text: "No peer has them.", Plots: []*plot{
			pathPlot(t, "Several limits, windows and keys, beside one limit", "Gate", func(r table.Row) bool {
				return r.Field("path") == "one-limit" || r.Floor == oneLimit
			}),
			pathPlot(t, "Keys seen for the first time", "Gate", func(r table.Row) bool { return r.Field("path") == "first-seen" }),
			pathPlot(t, "Retries and duplicates", "Idem", func(table.Row) bool { return true }),
		}},
		section{Title: "Memory and the garbage collector", Text: "Each limiter in a process of its own.", Plots: []*plot{
			memoryPlot(t, "Resident memory for each key", "bytes", func(m table.Memory) float64 { return m.Resident }),
			memoryPlot(t, "One garbage collection with the keys", "ms", func(m table.Memory) float64 { return m.GCFull }),
		}})
	var shown []section
	for _, s := range all {
		var plots []*plot
		for _, p := range s.Plots {
			if p != nil {
				plots = append(plots, p)
			}
		}
		if s.Plots = plots; len(plots) > 0 {
			shown = append(shown, s)
		}
	}
	return shown
}

// finish sorts and lays a plot, and returns nil for one without bars.
func finish(p *plot) *plot {
	if len(p.Bars) == 0 {
		return nil
	}
	p.order()
	return p.lay(0)
}

func targetPlot(t table.Table) *plot {
	p := &plot{Title: "Figures divided by their bounds", Unit: "1 is the bound"}
	for _, x := range t.Targets {
		if !math.IsNaN(x.Share) {
			p.Bars = append(p.Bars, bar{Name: x.Subject, Kind: x.Verdict, Value: x.Share, Text: fmt.Sprintf("%.2f", x.Share)})
		}
	}
	if len(p.Bars) == 0 {
		return nil
	}
	return p.lay(1)
}

// floorPlot shows the paths on one hot key.
func floorPlot(t table.Table) *plot {
	p := &plot{Title: "Figures divided by their floors", Unit: "1 is the floor"}
	for _, r := range t.Rows {
		if r.Family() == "Gate" && r.Keys == "1" && r.G == "1" && r.Floor != oneLimit && !math.IsNaN(r.TimesFloor) {
			p.Bars = append(p.Bars, bar{
				Name: fmt.Sprintf("%s, %s / %s", r.Figure, r.Outcome, r.Floor), Kind: "ours",
				Value: r.TimesFloor, Text: fmt.Sprintf("%.2f", r.TimesFloor),
			})
		}
	}
	if len(p.Bars) == 0 {
		return nil
	}
	return p.lay(1)
}

// loadPlot shows the paths and the peers that were measured with the same keys,
// outcome and goroutines, and the floor of Gate.Allow.
func loadPlot(t table.Table, keys, outcome, g string) *plot {
	p := &plot{Title: keysTitle(keys), Unit: "ns a call"}
	for _, r := range t.Rows {
		if r.Name == "Floor/op=line/table=64MB/g=1" && keys == "1M" {
			p.Bars = append(p.Bars, nanoseconds(r, "floor: a line of memory", "floor"))
		}
		if r.Keys != keys || r.Outcome != outcome || r.G != g || r.Floor == oneLimit || r.Field("path") == "one-limit" {
			continue
		}
		switch r.Family() {
		case "Gate":
			p.Bars = append(p.Bars, nanoseconds(r, r.Figure, "ours"))
			if r.Field("path") == "gate" && r.Field("clock") == "tsc" && !math.IsNaN(r.FloorNs) {
				p.Bars = append(p.Bars, bar{
					Name: "floor: " + strings.ReplaceAll(r.Floor, "+", " + "), Kind: "floor",
					Value: r.FloorNs, Text: table.Number(r.FloorNs) + " ns",
				})
			}
		case "Peer":
			p.Bars = append(p.Bars, nanoseconds(r, r.Field("lib"), "peer"))
		}
	}
	if !slices.ContainsFunc(p.Bars, func(b bar) bool { return b.Kind != "floor" }) {
		return nil
	}
	return finish(p)
}

func keysTitle(keys string) string {
	switch keys {
	case "1":
		return "One hot key"
	case "10k":
		return "10,000 keys"
	}
	return "1,000,000 keys"
}

// pathPlot shows the rows of one family that are chosen.
func pathPlot(t table.Table, title, family string, chosen func(table.Row) bool) *plot {
	p := &plot{Title: title, Unit: "ns a call"}
	for _, r := range t.Rows {
		if r.Family() == family && chosen(r) {
			name := strings.TrimPrefix(r.Figure, "idem ")
			if family == "Idem" || r.Keys == "room" || r.Keys == "pressure" {
				name += ", keys " + r.Keys
			}
			if family == "Idem" {
				name += ", " + r.Outcome
			}
			p.Bars = append(p.Bars, nanoseconds(r, name, "ours"))
		}
	}
	return finish(p)
}

func nanoseconds(r table.Row, name, kind string) bar {
	text := table.Number(r.Ns) + " ns"
	if spread := r.PlusMinus(); spread != "" {
		text += " ±" + spread
	}
	return bar{Name: name, Kind: kind, Value: r.Ns, Text: text}
}

func memoryPlot(t table.Table, title, unit string, value func(table.Memory) float64) *plot {
	p := &plot{Title: title, Unit: unit}
	for _, m := range t.Memory {
		v := value(m)
		if math.IsNaN(v) || v < 0 {
			continue
		}
		kind := "peer"
		if m.Lib == "tickgate" {
			kind = "ours"
		}
		p.Title = title + ", " + m.Keys + " keys"
		p.Bars = append(p.Bars, bar{Name: m.Lib, Kind: kind, Value: v, Text: table.Number(v) + " " + unit})
	}
	return finish(p)
}
