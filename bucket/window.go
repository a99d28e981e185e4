package bucket

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/tickgate/tickgate/clock"
)

// A limit that counts in windows, aligned or from the first event, keeps in its
// word when the window in force ends and what was counted in it.
//
//	 63                       1+c+z    1+c      1        0
//	┌────────────────────────────┬────────┬─────────┬────────┐
//	│ end of the window, quanta  │ late z │ count c │ parity │   + origin
//	└────────────────────────────┴────────┴─────────┴────────┘
//
// The end is a time of the gate's clock, rounded up to a quantum, so a take that
// comes before it needs no wall clock, no division and no second word: it
// compares, adds, and swaps. What does not fit into the count saturates there,
// above the capacity. late counts what an aligned window with a skew admitted
// after its boundary, which counts in the next window too.
//
// Equal, stale or backward now: the window in force has not ended for it, so it
// is counted there. Nothing is minted.
type window struct {
	span  int64 // length, ns
	skew  int64 // ns
	wall  clock.Wall
	count uint8 // bits of count
	late  uint8 // bits of late; 0 without a skew
	quant uint8 // a quantum is 2^quant ns
}

const (
	// maxIdle: a word is looked at within two eras of its key's last time, so a
	// window may have ended that long ago, ns.
	maxIdle = 2 << eraBits

	// slew is the change of the wall clock's offset that is put down to its being
	// slewed, as time services do it, rather than stepped: 1 ms.
	slew = 1_000_000

	// MaxCount is the most tokens of a limit that counts in windows.
	MaxCount = 1 << 30
)

// Errors of limits that count in windows.
var (
	ErrCount  = errors.New("a window must count 1 to 2^30 tokens")
	ErrSpan   = errors.New("a window must be longer than 0 and at most 365 days")
	ErrSkew   = errors.New("twice the skew must be less than the window")
	ErrCoarse = errors.New("too many tokens in too short a window: its end would be off by over 1 %")
)

// NewAligned compiles a limit of tokens in every window of span nanoseconds of
// wall time. The count of a window holds until skew after its end, and what is
// taken in between counts in both: the venue may count it in either.
func NewAligned(tokens, span, skew int64, wall clock.Wall) (Limit, error) {
	return newWindow(Aligned, tokens, window{span: span, skew: skew, wall: wall})
}

// NewFromFirst compiles a limit of tokens in windows of span nanoseconds, each of
// which begins with the first event after the one before. With a skew, nothing
// passes in the last skew of a window and the first skew after it: so the venue's
// window is over whenever the next begins here.
func NewFromFirst(tokens, span, skew int64) (Limit, error) {
	return newWindow(FromFirst, tokens, window{span: span, skew: skew})
}

func newWindow(kind Kind, tokens int64, w window) (Limit, error) {
	var faults []error
	if tokens < 1 || tokens > MaxCount {
		faults = append(faults, ErrCount)
	}
	if w.span <= 0 || w.span > maxRefill {
		faults = append(faults, ErrSpan)
	}
	if w.skew < 0 || w.skew >= (w.span+1)/2 {
		faults = append(faults, ErrSkew)
	}
	if faults != nil {
		return Limit{}, fmt.Errorf("%d per %d ns: %w", tokens, w.span, errors.Join(faults...))
	}
	w.count = uint8(bits.Len64(uint64(tokens)))
	if kind == Aligned && w.skew > 0 {
		w.late = w.count
	}
	need := bits.Len64(uint64(w.span + w.skew + maxIdle)) // before or after now
	if have := 62 - int(w.count+w.late); have < 1 {
		return Limit{}, fmt.Errorf("%d per %d ns: %w", tokens, w.span, ErrCoarse)
	} else if need > have {
		w.quant = uint8(need - have)
	}
	if w.span>>w.quant < 100 && w.quant > 0 {
		return Limit{}, fmt.Errorf("%d per %d ns: %w", tokens, w.span, ErrCoarse)
	}
	return Limit{kind: kind, tokens: tokens, most: tokens, unit: 1, window: w}, nil
}

// counted is a word of a window, taken apart, as of a time.
type counted struct {
	end  int64 // of the window in force, quanta
	used int64
	late int64
}

// shift is where the end begins in a word.
func (v *window) shift() uint8 { return (1 + v.count + v.late) & 63 }

// quanta rounds a time down.
func (v *window) quanta(t clock.Time) int64 { return int64(t) >> (v.quant & 63) }

// up rounds a time up.
func (v *window) up(t clock.Time) int64 { return -(int64(-t) >> v.quant) }

// time is a number of quanta as a time.
func (v *window) time(q int64) clock.Time { return clock.Time(q << (v.quant & 63)) }

// read takes a word apart. Only the distance of the end from now is in it.
func (v *window) read(w uint64, o Origin, now clock.Time) counted {
	w -= uint64(o)
	q := v.quanta(now)
	s := v.shift()
	return counted{
		end:  q + int64(w-uint64(q)<<(s&63))>>(s&63),
		used: int64(w >> 1 & (1<<(v.count&63) - 1)),
		late: int64(w >> ((1 + v.count) & 63) & (1<<(v.late&63) - 1)),
	}
}

// word puts a word together.
func (v *window) word(c counted, o Origin, parity uint64) uint64 {
	used := uint64(min(c.used, 1<<(v.count&63)-1))
	late := uint64(min(c.late, 1<<(v.late&63)-1))
	return (uint64(c.end)<<(v.shift()&63) | late<<((1+v.count)&63) | used<<1 | parity) + uint64(o)
}

// zone is the time from which what an aligned window admits counts in the next
// one too: the boundary, rounded so that it comes early.
func (v *window) zone(end int64) clock.Time {
	return v.time(end) - clock.Time(v.skew) - (1<<v.quant - 1)
}

// countedAt returns the window that now falls into: the one in force, or the one
// that an event now would open.
func (l *Limit) countedAt(w uint64, o Origin, now clock.Time) counted {
	c := l.window.read(w, o, now)
	if now < l.window.time(c.end) {
		return c
	}
	return l.opened(c, now)
}

// opened is the window that an event at now opens, after the window before ended.
func (l *Limit) opened(before counted, now clock.Time) counted {
	v := &l.window
	if l.kind == FromFirst {
		return counted{end: v.up(now + clock.Time(v.span+v.skew))}
	}
	begin := v.begin(now)
	c := counted{end: v.up(begin + clock.Time(v.span))}
	switch over := int64(v.time(before.end) - v.time(v.up(begin))); {
	case over > max(v.skew, slew):
		// The wall clock was stepped: the window before, by the clock of then, reaches
		// into this one. What it counted may have been sent in this one.
		c.used = before.used
	case over >= -max(v.skew, slew):
		c.used = before.late // it was the window just before
	}
	return c
}

// begin is when the aligned window of now began to count here: skew after its
// boundary.
func (v *window) begin(now clock.Time) clock.Time {
	into := (v.wall.UnixNano(now) - v.skew) % v.span
	if into < 0 {
		into += v.span
	}
	return now - clock.Time(into)
}

// shut reports whether now lies where a window from the first event with a skew
// admits nothing.
func (l *Limit) shut(c counted, now clock.Time) bool {
	v := &l.window
	return l.kind == FromFirst && v.skew > 0 && c.used > 0 && now >= v.time(c.end)-clock.Time(2*v.skew)
}

// count adds n tokens taken at now.
func (l *Limit) count(c counted, now clock.Time, n int64) counted {
	c.used += n
	if l.window.late > 0 && now >= l.window.zone(c.end) {
		c.late += n
	}
	return c
}

// tryWindow is [Limit.Try] for windows.
func (l *Limit) tryWindow(w uint64, o Origin, now clock.Time, n, capacity int64) (uint64, bool) {
	v := &l.window
	c := v.read(w, o, now)
	if now >= v.time(c.end) {
		c = l.opened(c, now)
	}
	if c.used+n > capacity || v.skew > 0 && l.shut(c, now) {
		return 0, false
	}
	c.used += n
	if v.late > 0 && now >= v.zone(c.end) {
		c.late += n
	}
	return v.word(c, o, l.parity), true
}
