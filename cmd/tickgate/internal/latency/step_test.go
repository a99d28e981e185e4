package latency

import (
	"time"

	"github.com/tickgate/tickgate/clock"
)

// stepping is a clock that goes on by step with every reading, and by as much as
// a test says in a call. Under it every time is known.
type stepping struct {
	*clock.Manual
	step     time.Duration
	readings int
	loud     int // after how many readings one takes a microsecond more; 0: none does
}

func newStepping(step time.Duration) *stepping {
	return &stepping{Manual: clock.NewManual(clock.Time(time.Hour)), step: step}
}

// Now returns the time after the step.
func (c *stepping) Now() clock.Time {
	c.readings++
	if c.loud > 0 && c.readings%c.loud == 0 {
		c.Advance(time.Microsecond)
	}
	c.Advance(c.step)
	return c.Manual.Now()
}

// costs is a path whose calls cost what the list says, over and over.
func (c *stepping) costs(list ...time.Duration) *path {
	i := 0
	return &path{name: "scripted", what: "Scripted", decisions: 1, want: 1, call: func(clock.Time) int {
		c.Advance(list[i%len(list)])
		i++
		return 1
	}}
}

// meter measures under the clock, with no collections.
func (c *stepping) meter(rate int64, duration time.Duration) *meter {
	return &meter{loop: loop{clock: c, rate: rate}, duration: duration, collections: func() uint64 { return 0 }}
}
