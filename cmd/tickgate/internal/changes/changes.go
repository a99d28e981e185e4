// Package changes remembers who changed what a gate enforces, and what was before and
// after: the last changes for people who look, all of them for the log.
package changes

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tickgate/tickgate"
)

const (
	// kept is how many changes are remembered.
	kept = 64
	// lines bounds what is remembered of one change: a new set may differ in all of its
	// policies.
	lines = 40
	// longest bounds the text of one fault, in bytes.
	longest = 500
)

// Change is one change of policies, or of who is blocked.
type Change struct {
	At   time.Time
	What string // apply, block or unblock
	Who  string // a person or a source; "" where nobody said
	Gate string // whose gate it was, as Of has it

	Key      string // who was blocked or unblocked, by the name that shows
	Everyone bool   // everyone was

	Lines []string // what is different, a policy to a line: "orders: 10/s → 20/s"
	More  int      // lines that were left out

	Fault string // why nothing was changed; "" if it was
}

// Log remembers changes. Its methods may be called by any number of goroutines at once.
type Log struct {
	log  *slog.Logger
	name func(apikey string) string

	mu   sync.Mutex
	ring []Change
	next uint64
}

// New makes a log that also writes each change to log. name says how an apikey is
// shown, as denials.Log.Name does.
func New(log *slog.Logger, name func(apikey string) string) *Log {
	return &Log{log: log, name: name, ring: make([]Change, 0, kept)}
}

// Of returns what takes down the changes of a gate, for tickgate.Config.Audit; its name is
// "" where there is one gate only. It costs some 100 ns for each policy of a set that was
// applied, and the writing of a line to the log, which is told of every difference.
func (l *Log) Of(gate string) func(tickgate.Change) {
	return func(c tickgate.Change) { l.record(gate, c) }
}

func (l *Log) record(gate string, c tickgate.Change) {
	own := Change{At: c.When, What: c.What.String(), Who: cut(c.Who), Gate: gate}
	attrs := []any{"what", own.What, "who", c.Who, "when", c.When}
	if gate != "" {
		attrs = append(attrs, "gate", gate)
	}
	if c.What != tickgate.Applied {
		if own.Everyone = c.APIKey == ""; own.Everyone {
			attrs = append(attrs, "everyone", true)
		} else {
			own.Key = l.name(c.APIKey)
			attrs = append(attrs, "key", own.Key)
		}
	}
	if all := diff(c.Old, c.New); len(all) > 0 {
		own.Lines = slices.Clone(all[:min(len(all), lines)])
		own.More = len(all) - len(own.Lines)
		attrs = append(attrs, "differences", all)
	}
	level := slog.LevelInfo
	if c.Err != nil {
		level = slog.LevelWarn
		own.Fault = cut(c.Err.Error())
		attrs = append(attrs, "refused", c.Err)
	}
	l.log.Log(context.Background(), level, "change", attrs...)

	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ring) < kept {
		l.ring = append(l.ring, own)
	} else {
		l.ring[l.next%kept] = own
	}
	l.next++
}

// cut returns a text of at most longest bytes.
func cut(s string) string {
	if len(s) <= longest {
		return s
	}
	return s[:longest] + "…"
}

// Recent returns the last n changes, or as many as there are, the newest first.
func (l *Log) Recent(n int) []Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Change, max(0, min(n, len(l.ring))))
	for i := range out {
		out[i] = l.ring[(l.next-1-uint64(i))%kept]
	}
	return out
}
