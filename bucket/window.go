package bucket

import (
	"errors"
	"fmt"
	"math/bits"
	"time"

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
// above the capacity. Of an aligned window with a skew, late counts what it admitted
// after its boundary, which counts in the next window too. Of a window from the
// first event, late says how much later than its end the next one may open (unsent).
//
// Equal, stale or backward now: the window in force has not ended for it, so it
// is counted there. Nothing is minted.
type window struct {
	span  int64 // length, ns
	skew  int64 // ns
	wall  clock.Wall
	mark  uint64 // Limit.mark
	count uint8  // bits of count
	late  uint8  // bits of late; 0 without a skew
	quant uint8  // a quantum is 2^quant ns

	// guard is how long before its end a window admits nothing, ns: where it cannot
	// count what is sent there in the next one too.
	guard int64

	// hold is the unit of late in a window from the first event, ns; else 0.
	hold int64

	// calm is how many quanta before its end a window has nothing to it but its count.
	calm int64
}

const (
	// maxIdle: a word is looked at within two eras of its key's last time, so a
	// window may have ended that long ago, ns.
	maxIdle = 2 << eraBits

	// holdBits tell the hold of a window from the first event up to twice its length,
	// to 1/32 of it.
	holdBits = 6

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
	ErrWall   = errors.New("an aligned window needs a wall clock")
	ErrCoarse = errors.New("too many tokens for so short a window, whose end would be off by over 1 %: count fewer, or leave out the skew")
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
	if w.skew < 0 || w.span > 0 && w.skew > (w.span-1)/2 {
		faults = append(faults, ErrSkew)
	}
	if kind == Aligned && w.wall == nil {
		faults = append(faults, ErrWall)
	}
	if faults != nil {
		return Limit{}, fmt.Errorf("%d per %v: %w", tokens, time.Duration(w.span), errors.Join(faults...))
	}
	if !w.lay(kind, bits.Len64(uint64(tokens))+1) { // debts up to the capacity once more
		return Limit{}, fmt.Errorf("%d per %v: %w", tokens, time.Duration(w.span), ErrCoarse)
	}
	return Limit{kind: kind, tokens: tokens, most: tokens, unit: 1, window: w}, nil
}

// lay divides the word between a count of so many bits and the end. It reports false
// if the end would be too coarse.
func (v *window) lay(kind Kind, count int) bool {
	v.count, v.late, v.quant, v.guard, v.hold = uint8(count), 0, 0, 0, 0
	switch {
	case kind == FromFirst:
		v.late = holdBits
		v.hold = (v.span + 1<<(holdBits-1) - 1) >> (holdBits - 1)
	case v.skew > 0:
		v.late = v.count
	}
	need := bits.Len64(uint64(2*v.span + v.skew + maxIdle)) // before or after now
	have := 62 - count - int(v.late)
	if have < 1 {
		return false
	}
	v.quant = uint8(max(0, need-have))
	if v.late == 0 || kind == FromFirst {
		v.guard = 1<<v.quant - 1 // between the end and the end rounded up
	}
	if kind == FromFirst {
		v.guard += 2 * v.skew
	}
	v.calm = (max(v.guard, v.skew)+1<<v.quant-1)>>v.quant + 1
	return v.quant == 0 || v.span>>v.quant >= 100
}

// widened returns l with room for what earlier generations may have counted, so that
// a capacity which is lowered and raised again finds what was used.
func (l Limit) widened(prev *Limit) Limit {
	l.high = max(l.most, prev.high, prev.most)
	switch l.kind {
	case Aligned, FromFirst:
		count := bits.Len64(uint64(min(l.high, MaxCount))) + 1
		if v := l.window; count > int(v.count) && v.lay(l.kind, count) {
			l.window = v
		}
	case Rolling:
		high := min(l.high, exactTokens<<l.roll.group)
		l.roll.mask = max(l.roll.mask, uint64(entriesFor(high, l.roll.group))-1)
	}
	return l
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
	w -= uint64(o) + v.mark
	q := v.quanta(now)
	s := v.shift()
	return counted{
		end:  q + int64(w-uint64(q)<<(s&63))>>(s&63),
		used: int64(w >> 1 & (1<<(v.count&63) - 1)),
		late: int64(w >> ((1 + v.count) & 63) & (1<<(v.late&63) - 1)),
	}
}

// word puts a word together.
func (v *window) word(c counted, o Origin) uint64 {
	used := uint64(min(c.used, 1<<(v.count&63)-1))
	late := uint64(min(c.late, 1<<(v.late&63)-1))
	return (uint64(c.end)<<(v.shift()&63) | late<<((1+v.count)&63) | used<<1) + uint64(o) + v.mark
}

// zone is the time from which what an aligned window admits counts in the next
// one too: the boundary, rounded so that it comes early.
func (v *window) zone(end int64) clock.Time {
	return v.time(end) - clock.Time(v.skew) - (1<<v.quant - 1)
}

// until is when the next window may open.
func (v *window) until(c counted) clock.Time {
	return v.time(c.end) + clock.Time(c.late*v.hold)
}

// countedAt returns the window that now falls into: the one in force, or the one
// that an event now would open.
func (l *Limit) countedAt(w uint64, o Origin, now clock.Time) counted {
	c := l.window.read(w, o, now)
	if now < l.window.until(c) {
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
	slack := min(max(v.skew, slew), v.span/2)
	switch over := int64(v.time(before.end) - v.time(v.up(begin))); {
	case over > slack:
		// The wall clock was stepped: the window before, by the clock of then, reaches
		// into this one. What it counted may have been sent in this one.
		c.used = before.used
	case over >= -slack:
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

// shut reports whether now lies where the window admits nothing.
func (v *window) shut(c counted, now clock.Time) bool {
	return (v.guard > 0 || v.hold > 0) && now >= v.time(c.end)-clock.Time(v.guard)
}

// counts reports whether what is taken at now counts in the next window too.
func (v *window) counts(c counted, now clock.Time) bool {
	return v.late > 0 && v.hold == 0 && now >= v.zone(c.end)
}

// count adds n tokens taken at now.
func (l *Limit) count(c counted, now clock.Time, n int64) counted {
	c.used += n
	if l.window.counts(c, now) {
		c.late += n
	}
	return c
}

// TryWindow is [Limit.Try] of an ordinary call, for a limit that counts in windows.
func (l *Limit) TryWindow(w uint64, o Origin, now clock.Time, n int64) (uint64, Outcome) {
	next, ok := l.tryWindow(w, o, now, n, l.tokens)
	if !ok {
		return 0, Short
	}
	return next, Fits
}

// tryWindow is [Limit.Try] for windows. The usual case, well before the end of the
// window in force, is a comparison and an addition.
func (l *Limit) tryWindow(w uint64, o Origin, now clock.Time, n, capacity int64) (uint64, bool) {
	v := &l.window
	u, s := w-uint64(o)-v.mark, v.shift()
	if int64(u-uint64(v.quanta(now))<<s)>>s > v.calm {
		return w + uint64(n)<<1, int64(u>>1&(1<<(v.count&63)-1))+n <= capacity
	}
	return l.tryLate(w, o, now, n, capacity)
}

// tryLate is tryWindow near the end of the window in force and after it.
func (l *Limit) tryLate(w uint64, o Origin, now clock.Time, n, capacity int64) (uint64, bool) {
	v := &l.window
	c := v.read(w, o, now)
	if now >= v.until(c) {
		c = l.opened(c, now)
	}
	if c.used+n > capacity || v.shut(c, now) {
		return 0, false
	}
	return v.word(l.count(c, now, n), o), true
}
