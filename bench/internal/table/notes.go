package table

import "fmt"

// Note is a paragraph below the table.
type Note struct {
	Title string
	Items []string
}

// Method says how the figures came about.
func (t Table) Method() string {
	s := fmt.Sprintf("Medians of at least %d samples; +/- is the sample farthest from the median.", t.Samples)
	if t.Samples < 6 {
		s += " Fewer than 6: do not trust small differences."
	}
	return s + " Ratios decide; goal ns is for one other machine."
}

// Notes tell which targets were missed or not measured, and where peers are
// ahead.
func (t Table) Notes() []Note {
	notes := []Note{{Title: fmt.Sprintf("Targets met: %d of %d.", len(t.Of(Pass)), len(t.Targets))}}
	if missed := t.Of(Miss); len(missed) > 0 {
		notes = append(notes, Note{"Missed targets:", sentences(missed)})
	}
	if absent := t.Of(NotMeasured); len(absent) > 0 {
		notes = append(notes, Note{"Targets that were not measured:", sentences(absent)})
	}
	if len(t.Ahead) > 0 {
		notes = append(notes, Note{"Where a peer is ahead:", t.Ahead})
	} else {
		notes = append(notes, Note{Title: "Where a peer is ahead: nowhere among those measured."})
	}
	return notes
}

func sentences(targets []Target) []string {
	var lines []string
	for _, t := range targets {
		lines = append(lines, t.String())
	}
	return lines
}

// Conduct says under what conditions every benchmark of this module runs, for
// a reader who has only the report.
func Conduct() []string {
	return []string{
		"Keys are 24 bytes and arrive in one random order, the same for every limiter; keys 1 is one hot key. Every key has made one call before.",
		"allow: every call passes, deny: none does; a run in which one call got the other outcome fails.",
		"ns/op is what a call costs its caller. With g=2 two goroutines call at once, as fast as they can; allocations are then those of both.",
		"A floor is a sum of parts measured alone, such as reading the counter (rdtsc), a hash and a compare-and-swap (cas). A processor overlaps them, so it is no strict bound.",
		"Peers hash and compare one string, gate two (in the peers' favour); peers are called through an interface, 1 to 2 ns (in tickgate's). Only limiters that keep a budget for each key count as keyed.",
		"Peers in an unbounded map never evict; a gate's memory is bounded and taken when it is made. Peers that know only fixed windows have one window for the whole run.",
		"Memory: each limiter is filled in a process of its own, keys of 24 bytes with storage of their own; growth of resident memory, and medians of 21 garbage collections.",
	}
}
