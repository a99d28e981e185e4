package clock

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Source tells what a clock runs on, why, and how well: for the eyes of an operator.
type Source struct {
	Name   string // "tsc" or "runtime"
	Reason string // why this one, one line

	// The rest is zero for "runtime".

	Frequency float64 // of the counter, in Hz, as measured so far

	// DriftPPM is how fast the clock ran against the runtime's between the last two comparisons, in parts per
	// million, positive when faster. DriftOver is the time between them; zero: there were no two yet. Where the
	// clock was being slewed, that is part of it. To measure over a time of one's own choice use Drift.
	DriftPPM  float64
	DriftOver time.Duration

	Offset      time.Duration // the clock minus the runtime's, jumps left out, at the last comparison
	Refinements uint64        // how often the rate was refined
	Jumps       uint64        // how often the two had parted by more than 50 ms, as after a suspension
}

// String returns all of it in one line.
func (s Source) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", s.Name, s.Reason)
	if s.Frequency > 0 {
		fmt.Fprintf(&b, "; %.6f MHz", s.Frequency/1e6)
	}
	if s.DriftOver > 0 {
		fmt.Fprintf(&b, "; drift %+.3f ppm over %v, offset %v", s.DriftPPM, s.DriftOver.Round(time.Millisecond), s.Offset)
	}
	if s.Jumps > 0 {
		fmt.Fprintf(&b, "; %d jumps", s.Jumps)
	}
	return b.String()
}

var chosen struct {
	once   sync.Once
	clock  Clock
	reason string // why not the counter; empty: it is
}

// Default returns the clock that suits this machine: a [TSC] where the kernel itself trusts the counter, [Runtime]
// elsewhere. The first call makes it, in at most 20 ms on an idle machine; later ones return the same Clock. Its
// refinement costs some microseconds every 8 s for the life of the process, in a timer and not in a goroutine, so
// that tests which look for left-over goroutines find none.
func Default() Clock {
	chosen.once.Do(func() {
		c, err := NewTSC()
		if err != nil {
			chosen.clock, chosen.reason = Runtime(), err.Error()
			return
		}
		chosen.clock = c
	})
	return chosen.clock
}

// Describe tells what [Default] chose, and why. It makes the clock if nobody has.
func Describe() Source {
	if t, ok := Default().(*TSC); ok {
		return t.Describe()
	}
	return Source{Name: "runtime", Reason: chosen.reason}
}
