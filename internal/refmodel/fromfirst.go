package refmodel

import (
	"math/big"
	"time"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// fromFirst counts in windows that open with their first event, at t0. Calls
// pass in [t0, t0+Per−Skew), then none until t0+Per+Skew, when the window is over:
//
//	t0                      Per−Skew    Per     Per+Skew
//	├──────────── open ────────┼────── shut ───────┤ the next event opens the next
type fromFirst struct {
	limit  Limit
	now    clock.Time
	window *opened // nil: none is in force
}

// opened is a window of a fromFirst.
type opened struct {
	at    clock.Time
	count int64
	hold  time.Duration // how much later than Per+Skew the next one may open
}

func (f *fromFirst) of() Limit { return f.limit }

// adopt keeps the window and what it counts.
func (f *fromFirst) adopt(l Limit) bool {
	if l.Window != policy.FromFirst || l.Per != f.limit.Per {
		return false
	}
	f.limit = l
	f.drop()
	return true
}

func (f *fromFirst) to(t clock.Time) {
	f.now = t
	f.drop()
}

func (f *fromFirst) drop() {
	if f.window != nil && f.over() == 0 {
		f.window = nil
	}
}

// open is how long calls pass still; 0 if no longer. There is a window.
func (f *fromFirst) open() time.Duration {
	return max(0, time.Duration(f.limit.Per)-f.limit.Skew-since(f.window.at, f.now))
}

// over is how long the window is in force still. There is a window.
func (f *fromFirst) over() time.Duration {
	span := saturate(new(big.Int).Add(big.NewInt(f.limit.Per), big.NewInt(int64(f.limit.Skew))))
	return max(0, saturate(new(big.Int).Add(big.NewInt(int64(span)), big.NewInt(int64(f.window.hold))))-since(f.window.at, f.now))
}

// wait: while the window is in force a call passes that fits into it, before it
// shuts. A look may come later, too.
func (f *fromFirst) wait(n int64, urgent bool, after time.Duration) time.Duration {
	if f.window == nil || after >= f.over() {
		return after
	}
	if f.window.count <= f.limit.room(urgent)-n && (n == 0 || after < f.open()) {
		return after
	}
	return f.over()
}

func (f *fromFirst) take(n int64) mark {
	f.charge(n)
	return inOpened{f.window, f.now, n}
}

// charge opens a window if none is in force. In one that is shut it counts still.
func (f *fromFirst) charge(n int64) {
	if f.window == nil {
		f.window = &opened{at: f.now}
	}
	if n > 0 && f.open() == 0 {
		// It may have opened the venue's next window: ours opens no earlier than that is over.
		step := (time.Duration(f.limit.Per) + 31) / 32
		passed := since(f.window.at, f.now)
		f.window.hold = max(f.window.hold, min(63, (passed+step-1)/step)*step)
	}
	f.window.count = f.limit.charged(f.window.count, n)
}

// credit leaves the window in force, also one that counts nothing any more.
func (f *fromFirst) credit(n int64) {
	if f.window != nil {
		f.window.count -= min(n, f.window.count)
	}
}

// inOpened is a take of n tokens in a window.
type inOpened struct {
	window *opened
	at     clock.Time
	n      int64
}

// refund says that a take was not sent. If nothing else was counted, the window did
// not open. If the take opened it, and others came after, it opened with one of
// them, at the latest now: that much later the next one may open, in steps of Per/32.
func (f *fromFirst) refund(of mark) {
	m, ok := of.(inOpened)
	if !ok || f.window == nil || m.window != f.window || m.n == 0 {
		return
	}
	f.credit(m.n)
	passed := since(f.window.at, f.now)
	switch {
	case f.window.count == 0:
		f.window = nil
	case m.at <= f.window.at.Add(f.window.hold) && passed > 0:
		step := (time.Duration(f.limit.Per) + 31) / 32
		f.window.hold = max(f.window.hold, min(63, (passed+step-1)/step)*step)
	}
}

func (f *fromFirst) used() *big.Rat {
	if f.window == nil {
		return new(big.Rat)
	}
	return whole(f.window.count)
}

func (f *fromFirst) left(urgent bool) int64 {
	switch {
	case f.window == nil:
		return f.limit.room(urgent)
	case f.open() == 0:
		return 0
	}
	return max(0, f.limit.room(urgent)-f.window.count)
}

func (f *fromFirst) reset() time.Duration {
	if f.window == nil || f.window.count == 0 && f.open() > 0 {
		return 0
	}
	return f.over()
}
