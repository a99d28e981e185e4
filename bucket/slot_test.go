package bucket

import (
	"time"

	"github.com/tickgate/tickgate/clock"
)

// stepBack is how far behind a caller must be to be taken for a clock that was
// set back.
const stepBack = clock.Time(10 * time.Second)

// slot drives a word as a table does, for one caller at a time: it keeps the
// newest time of a key, serves late callers at it, and re-bases the word.
type slot struct {
	plan  *Plan
	w     uint64
	o     Origin
	seen  clock.Time
	shift clock.Time
	back  bool // shift means something
}

func newSlot(l Limit, o Origin, at clock.Time) *slot {
	p := (*Plan)(nil).Next([]Named{{Limit: l}}, "", at)
	return &slot{plan: p, w: p.Limits[0].Full(o, at), o: o, seen: at}
}

func (s *slot) limit() *Limit { return &s.plan.Limits[0] }

// touch returns the time to serve a caller at, and by how much it is late.
func (s *slot) touch(now clock.Time) (at clock.Time, late int64) {
	if now >= s.seen {
		s.back = s.back && now == s.seen
		s.move(now)
		return now, 0
	}
	behind := uint64(s.seen) - uint64(now)
	if shift := uint64(s.shift); s.back {
		switch {
		case shift > behind && shift-behind < behind && s.seen+clock.Time(shift-behind) > s.seen:
			s.move(s.seen + clock.Time(shift-behind))
			return s.seen, 0
		case shift <= behind && behind-shift < uint64(stepBack):
			return s.seen, int64(behind - shift)
		}
	}
	if behind < uint64(stepBack) {
		return s.seen, int64(behind)
	}
	s.shift, s.back = clock.Time(behind), true
	return s.seen, 0
}

// move moves the newest time on. The word is re-based when it enters another
// era, not only after an idle time of that length: a key that is
// looked at often and never taken from gets out of range as well.
func (s *slot) move(now clock.Time) {
	if !SameEra(now, s.seen) {
		s.w = s.limit().Rebase(s.w, s.o, s.seen, now)
	}
	s.seen = now
}

// take takes n tokens, n ≤ capacity.
func (s *slot) take(now clock.Time, n int64) (at clock.Time, ok bool) {
	at, _ = s.touch(now)
	next, ok := s.limit().Take(s.w, s.o, at, n)
	if ok && n > 0 {
		s.w = next
	}
	return at, ok
}

// apply puts l into force at at, or at the newest time if that is later.
func (s *slot) apply(l Limit, at clock.Time) {
	if at > s.seen {
		s.back = false
		s.move(at)
	}
	s.plan = s.plan.Next([]Named{{Limit: l}}, "", s.seen)
	s.w = read(s.plan, 0, s.w, s.o, s.seen)
}

// idle is the length of an era: a word may be left alone that long.
const idle = 1 << eraBits
