package table

import (
	"fmt"
	"math"
)

// Headings are the columns. "goal" belongs to the column on its left.
var Headings = []string{
	"figure", "keys", "outcome", "g", "ns/op", "+/-", "allocs", "goal ns",
	"floor", "x floor", "goal", "fastest keyed peer", "x peer", "goal", "verdict",
}

// memoryHeadings are the columns of memory.
var memoryHeadings = []string{
	"keys held by", "keys", "resident B/key", "Go heap B/key", "mapped B/key", "GC empty ms", "GC full ms", "added ms", "keys kept",
}

// cells is the line under memoryHeadings.
func (m Memory) cells() []string {
	ms := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return fmt.Sprintf("%.2f", v)
	}
	return []string{
		m.Lib, m.Keys, Number(m.Resident), Number(m.Heap), Number(m.Mapped), ms(m.GCEmpty), ms(m.GCFull), ms(m.GCAdded()), Number(m.Kept),
	}
}

// numeric says which columns are set flush right.
var numeric = []bool{
	false, true, false, true, true, true, true, true,
	false, true, true, false, true, true, false,
}

// Cells is the row under Headings.
func (r Row) Cells() []string {
	goalNs, goalFloor, goalPeer := "", "", ""
	if g := r.goal; g != nil {
		goalNs = Number(g.ns) + " met"
		if r.Ns > g.ns {
			goalNs = Number(g.ns) + " over"
		}
		goalFloor, goalPeer = ratio(g.floor), ratio(g.peer)
	}
	peer := r.Peer
	if peer != "" {
		peer += " " + Number(r.PeerNs)
	}
	return []string{
		r.Figure, r.Keys, r.Outcome, r.G, Number(r.Ns), r.PlusMinus(), Number(r.Allocs), goalNs,
		r.Floor, ratio(r.TimesFloor), goalFloor, peer, ratio(r.TimesPeer), goalPeer, r.Verdict,
	}
}

// PlusMinus prints the spread, and nothing where there is but one sample.
func (r Row) PlusMinus() string {
	if r.Samples < 2 {
		return ""
	}
	return fmt.Sprintf("%.0f%%", 100*r.Spread)
}

// Number prints three digits or the whole number, whichever is more; NaN is empty.
func Number(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case v == math.Trunc(v), v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// ratio prints two decimals; NaN and zero are empty.
func ratio(v float64) string {
	if math.IsNaN(v) || v == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", v)
}

// memoryNumeric is numeric for memory.
var memoryNumeric = []bool{false, true, true, true, true, true, true, true, true}
