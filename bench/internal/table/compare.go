package table

import (
	"math"
	"slices"
)

// compare fills in the ratios to the floor and to the fastest keyed peer.
func (r *Row) compare(m *Measurements) {
	if label, terms := floorOf(r.Name); label != "" {
		r.Floor, r.FloorNs = label, sum(m, terms)
		r.TimesFloor = r.Ns / r.FloorNs
		if i := slices.Index(terms, bareCounter); i >= 0 {
			terms = slices.Clone(terms)
			terms[i] = ownClock
			r.timesClock = r.Ns / sum(m, terms)
		}
	}
	if r.Floor == oneLimitLabel {
		return // what no peer does
	}
	if lib, ns := fastestPeer(m, r.Name); lib != "" {
		r.Peer, r.PeerNs, r.TimesPeer = lib, ns, r.Ns/ns
	}
}

// sum adds the medians up. It is NaN when one was not measured.
func sum(m *Measurements, terms []string) float64 {
	total := 0.0
	for _, t := range terms {
		v, ok := m.Figure(t, "ns/op")
		if !ok {
			return math.NaN()
		}
		total += v
	}
	return total
}

// fastestPeer returns the fastest keyed peer with the keys, the outcome and the
// goroutines of the figure, or "".
func fastestPeer(m *Measurements, name string) (lib string, ns float64) {
	for _, other := range m.Names {
		l := field(other, "lib")
		if family(other) != "Peer" || unkeyed[l] || !sameLoad(name, other) {
			continue
		}
		if v, ok := m.Figure(other, "ns/op"); ok && (lib == "" || v < ns) {
			lib, ns = l, v
		}
	}
	return lib, ns
}

func sameLoad(a, b string) bool {
	for _, key := range []string{"keys", "outcome", "g"} {
		if field(a, key) != field(b, key) {
			return false
		}
	}
	return true
}
