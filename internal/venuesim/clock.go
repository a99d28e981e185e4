package venuesim

import (
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// Clock is the venue's clock as seen from ours. The zero value is our own.
type Clock struct {
	// Offset is how far it leads ours at Start; negative if it lags.
	Offset time.Duration
	// Drift is how much the offset grows in each second of our time: 5µs are
	// 5 ppm. It lies strictly between −1 s and 1 s, so that time never goes back.
	Drift time.Duration
	// Swing, unless zero, is how far the offset drifts from Offset before it
	// turns back, and back again at Offset, without end.
	Swing time.Duration
	// Start is when the drift begins, on our clock.
	Start int64
}

// At returns what the venue's clock shows at a time of ours, cut down to the
// nanosecond. It never falls.
func (c Clock) At(ours int64) int64 {
	var moved int64
	if ours > c.Start && c.Drift != 0 {
		// |Drift|/1s < 1: the quotient is below ours−Start and fits.
		hi, lo := bits.Mul64(uint64(ours-c.Start), uint64(max(c.Drift, -c.Drift)))
		quotient, _ := bits.Div64(hi, lo, uint64(time.Second))
		moved = int64(quotient)
	}
	if c.Swing > 0 {
		if moved %= 2 * int64(c.Swing); moved > int64(c.Swing) {
			moved = 2*int64(c.Swing) - moved
		}
	}
	if c.Drift < 0 {
		moved = -moved
	}
	return ours + int64(c.Offset) + moved
}

func (c Clock) faults() error {
	var all []error
	if c.Drift <= -time.Second || c.Drift >= time.Second {
		all = append(all, fmt.Errorf("venuesim: clock: drift %v must be between -1s and 1s in a second", c.Drift))
	}
	if c.Swing < 0 || c.Swing > time.Duration(Never/4) {
		all = append(all, fmt.Errorf("venuesim: clock: swing %v must be from zero to 70 years", c.Swing))
	}
	return errors.Join(all...)
}
