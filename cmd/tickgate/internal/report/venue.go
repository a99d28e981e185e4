package report

import (
	"strings"
	"time"
)

// Venue says whose limits were in force, if they were those of a preset.
type Venue struct {
	Name     string    `json:"name"`
	Venue    string    `json:"venue"`
	Source   string    `json:"source"`   // the venue's documents
	Read     string    `json:"read"`     // when they were read
	GuardNS  int64     `json:"guard_ns"` // 0: the limits as documented
	Messages []Message `json:"messages"`
}

// Message is one class of messages in words.
type Message struct {
	Class string   `json:"class"`
	Draws []string `json:"draws"` // what one takes from which counts
}

// lines describe the venue: first what it is, then a line for each class.
func (v *Venue) lines() []string {
	first := v.Venue + " (" + v.Name + "), as documented in " + v.Read + ": " + v.Source
	if v.GuardNS > 0 {
		first += "; guarded against " + time.Duration(v.GuardNS).String() + " of jitter"
	}
	lines := []string{first}
	for _, m := range v.Messages {
		lines = append(lines, m.Class+" takes "+strings.Join(m.Draws, ", "))
	}
	return lines
}
