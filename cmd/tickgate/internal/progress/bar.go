// Package progress draws one line that says how far a long input has been
// read.
//
// It is written here because it is this small: the libraries for it bring
// their own terminal, colour and text-width packages along, for effects this
// command has no use for.
package progress

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	delay    = 300 * time.Millisecond // shorter inputs show no bar at all
	interval = 100 * time.Millisecond // between two drawings
	cells    = 24
)

// Bar is a progress bar. Its methods do nothing on a nil Bar, which is what a
// command uses where there is no terminal. Not safe for concurrent use.
type Bar struct {
	w     io.Writer
	now   func() time.Time
	total int64 // bytes to come, 0 where unknown
	start time.Time
	drawn time.Time
	width int // of the line on the screen, 0 if there is none
}

// New returns a bar for total bytes, 0 where that is not known, that draws on w
// by the clock now.
func New(w io.Writer, total int64, now func() time.Time) *Bar {
	return &Bar{w: w, now: now, total: total, start: now()}
}

// Update says that done bytes were read and how many requests they held. It
// draws at most every 100 ms, and not in the first 300.
func (b *Bar) Update(done, requests int64) {
	if b == nil {
		return
	}
	now := b.now()
	if now.Sub(b.start) < delay || now.Sub(b.drawn) < interval {
		return
	}
	b.drawn = now
	b.draw(b.line(done, requests, now.Sub(b.start)))
}

func (b *Bar) line(done, requests int64, spent time.Duration) string {
	if b.total <= 0 {
		return fmt.Sprintf("%d requests, %.1f MB read", requests, float64(done)/1e6)
	}
	part := min(1, float64(done)/float64(b.total))
	full := int(part * cells)
	left := ""
	if part > 0.01 {
		rest := time.Duration(float64(spent) * (1 - part) / part)
		left = fmt.Sprintf(", %v left", rest.Round(time.Second))
	}
	return fmt.Sprintf("%3.0f%% [%s%s] %d requests%s", 100*part, strings.Repeat("=", full), strings.Repeat(" ", cells-full), requests, left)
}

// draw writes over the line on the screen. Spaces take away what was longer:
// they work on every terminal.
func (b *Bar) draw(line string) {
	fmt.Fprintf(b.w, "\r%s%s", line, strings.Repeat(" ", max(0, b.width-len(line))))
	b.width = len(line)
}

// Clear takes the bar off the screen, so that other text can be written; the
// next Update brings it back.
func (b *Bar) Clear() {
	if b == nil || b.width == 0 {
		return
	}
	b.draw("")
	fmt.Fprint(b.w, "\r")
	b.width, b.drawn = 0, time.Time{}
}
