package refmodel

import (
	"math"
	"math/big"
	"time"

	"github.com/tickgate/tickgate/clock"
)

// StepBack is how far behind a key's time a caller must be to be taken for a
// clock that was set back.
const StepBack = 10 * time.Second

// Never is the wait of what does not pass however long it waits.
const Never time.Duration = math.MaxInt64

// axis is the time of one key.
type axis struct {
	setBack bool       // callers StepBack or more behind are shifted
	begun   bool       // newest means something
	newest  clock.Time // the latest time of a call
	shift   *big.Int   // what is added to the times of a clock that was set back, until it caught up; else nil
}

// at brings a caller's time onto the axis. It returns the time to serve the
// caller at, and by how much the caller is behind it.
func (a *axis) at(now clock.Time) (at clock.Time, late time.Duration) {
	if !a.begun || now > a.newest {
		a.begun, a.newest, a.shift = true, now, nil
	}
	if now == a.newest {
		return now, 0
	}
	behind := between(now, a.newest)
	step := big.NewInt(int64(StepBack))
	if !a.setBack {
		return a.newest, saturate(behind)
	}
	if a.shift != nil {
		ahead := new(big.Int).Sub(a.shift, behind) // of newest, once shifted
		// Of the two clocks the caller may have, it has the one that fits better.
		// One that was set back may have been silent for longer than StepBack.
		switch {
		case ahead.Sign() > 0 && ahead.Cmp(behind) < 0 && ahead.IsInt64() && a.newest+clock.Time(ahead.Int64()) > a.newest:
			a.newest += clock.Time(ahead.Int64())
			return a.newest, 0
		case ahead.Sign() <= 0 && ahead.CmpAbs(step) < 0:
			return a.newest, time.Duration(-ahead.Int64())
		}
	}
	if behind.Cmp(step) < 0 {
		return a.newest, time.Duration(behind.Int64())
	}
	a.shift = behind
	return a.newest, 0
}

// between is the exact number of nanoseconds from one time to another.
func between(from, to clock.Time) *big.Int {
	return new(big.Int).Sub(big.NewInt(int64(to)), big.NewInt(int64(from)))
}

// saturate is ns as a duration, at most Never. ns is not negative.
func saturate(ns *big.Int) time.Duration {
	if !ns.IsInt64() {
		return Never
	}
	return time.Duration(ns.Int64())
}

// add is a wait of somebody who is late by that much. No wait stays none.
func add(wait, late time.Duration) time.Duration {
	if wait == 0 {
		return 0
	}
	if wait > Never-late {
		return Never
	}
	return wait + late
}
