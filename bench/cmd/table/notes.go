package main

import "fmt"

// note is a paragraph below the table.
type note struct {
	title string
	items []string
}

// method says how the figures came about.
func (t table) method() string {
	s := fmt.Sprintf("Medians of at least %d samples; +/- is the sample farthest from the median.", t.samples)
	if t.samples < 6 {
		s += " Fewer than 6: do not trust small differences."
	}
	return s + " Ratios decide; goal ns is for one other machine."
}

func (t table) notes() []note {
	notes := []note{{title: fmt.Sprintf("Targets met: %d of %d.", t.met, len(goals))}}
	if len(t.missed) > 0 {
		notes = append(notes, note{"Missed targets:", t.missed})
	}
	if len(t.absent) > 0 {
		notes = append(notes, note{"Targets that were not measured:", t.absent})
	}
	if len(t.faster) > 0 {
		notes = append(notes, note{"Peers that are faster:", t.faster})
	} else {
		notes = append(notes, note{title: "Peers that are faster: none of those measured."})
	}
	return notes
}
