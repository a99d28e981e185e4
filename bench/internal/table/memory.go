package table

import (
	"fmt"
	"math"
	"strings"
)

// Memory is what one limiter costs that holds many keys. Bytes are growth for
// each key, times are medians in milliseconds; what was not measured is NaN.
type Memory struct {
	Lib      string
	Keys     string  // how many, as in names: 1M
	Resident float64 // bytes of resident memory
	Mapped   float64 // bytes of mapped memory, touched or not
	Heap     float64 // bytes on the Go heap
	GCEmpty  float64 // a garbage collection before the keys
	GCFull   float64 // a garbage collection with them
	Kept     float64 // keys that the limiter still knew in the end
}

// GCAdded is by how much the keys lengthen a garbage collection, in milliseconds.
func (m Memory) GCAdded() float64 { return m.GCFull - m.GCEmpty }

const (
	ours = "tickgate"

	// goalKeys is the number of keys that the targets of memory are for.
	goalKeys = "1M"
	// goalBytes is how many bytes of resident memory a key of 24 bytes may take.
	goalBytes = 140
	// goalGC is by how many milliseconds the keys may lengthen a garbage collection.
	goalGC = 1.0
	// sameGC is the difference of two collections, in milliseconds, below which
	// neither is called shorter.
	sameGC = 0.1
)

// memoryOf reads the lines Memory/lib=…/keys=….
func memoryOf(m *Measurements) []Memory {
	var all []Memory
	for _, name := range m.Names {
		if family(name) != "Memory" {
			continue
		}
		get := func(unit string) float64 {
			if v, ok := m.Figure(name, unit); ok {
				return v
			}
			return math.NaN()
		}
		all = append(all, Memory{
			Lib: field(name, "lib"), Keys: field(name, "keys"),
			Resident: get("resident-B/key"), Mapped: get("mapped-B/key"), Heap: get("heap-B/key"),
			GCEmpty: get("gc-empty-ns") / 1e6, GCFull: get("gc-full-ns") / 1e6, Kept: get("kept-keys"),
		})
	}
	return all
}

func (t Table) memoryTargets() []Target {
	bytes := Target{Subject: "memory for a key, keys " + goalKeys, Asked: fmt.Sprintf("%d bytes", goalBytes), Verdict: NotMeasured, Share: math.NaN()}
	gc := Target{Subject: "a collection's growth, keys " + goalKeys, Asked: fmt.Sprintf("%.0f ms", goalGC), Verdict: NotMeasured, Share: math.NaN()}
	for _, m := range t.Memory {
		if m.Lib != ours || m.Keys != goalKeys {
			continue
		}
		if !math.IsNaN(m.Resident) {
			bytes.Got, bytes.Share = Number(m.Resident)+" bytes", m.Resident/goalBytes
			bytes.Verdict = within(m.Resident, goalBytes)
		}
		if added := m.GCAdded(); !math.IsNaN(added) {
			gc.Got, gc.Share = fmt.Sprintf("%.2f ms", added), max(0, added/goalGC)
			gc.Verdict = within(added, goalGC)
		}
	}
	return []Target{bytes, gc}
}

func within(v, bound float64) string {
	if v <= bound {
		return Pass
	}
	return Miss
}

// smaller says where a peer takes less memory or less of the collector's time.
func (t Table) smaller() []string {
	var lines []string
	for _, own := range t.Memory {
		if own.Lib != ours {
			continue
		}
		for _, m := range t.Memory {
			if m.Keys != own.Keys {
				continue
			}
			var words []string
			if m.Resident < own.Resident {
				words = append(words, fmt.Sprintf("%s bytes a key, %s %s", Number(m.Resident), ours, Number(own.Resident)))
			}
			if m.GCAdded() < own.GCAdded()-sameGC {
				words = append(words, fmt.Sprintf("%.2f ms added to a collection, %s %.2f", m.GCAdded(), ours, own.GCAdded()))
			}
			if len(words) > 0 {
				lines = append(lines, fmt.Sprintf("peer %s, keys %s: %s", m.Lib, m.Keys, strings.Join(words, "; ")))
			}
		}
	}
	return lines
}
