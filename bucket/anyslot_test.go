package bucket

import (
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/tickgate/tickgate/clock"
)

// anySlot drives the cell of one limit of any kind as a table does, for one caller
// at a time: it keeps the newest time of a key, serves late callers at it, renews
// the word in another era, and brings a change of the limit to it.
type anySlot struct {
	plan  *Plan
	word  atomic.Uint64
	o     Origin
	owner uint64
	seen  clock.Time
	shift clock.Time
	back  bool // shift means something
}

// newAnySlot returns a key that was never asked for, at the time at.
func newAnySlot(l Limit, owner uint64, at clock.Time) *anySlot {
	s := &anySlot{o: OriginOf(owner), owner: owner, seen: at}
	s.plan = equipped((*Plan)(nil).Next([]Named{{Limit: l}}, "", at))
	if s.limit().RingWords() > 0 {
		c := s.cell(s.limit())
		c.Open()
	}
	s.word.Store(s.limit().Empty(s.o, at))
	return s
}

// equipped gives the first limit of a plan a ring of its own, if it lacks one.
func equipped(p *Plan) *Plan {
	if l := &p.Limits[0]; l.RingWords() > 0 && l.Rings() == nil {
		mem := make([]uint64, l.RingWords())
		p.Limits[0] = l.WithRings(l.NewRings(unsafe.Pointer(unsafe.SliceData(mem)), 1))
	}
	return p
}

func (s *anySlot) limit() *Limit { return &s.plan.Limits[0] }

func (s *anySlot) cell(l *Limit) Cell {
	return Cell{Word: &s.word, Raw: s.word.Load(), Origin: s.o, Ring: l.Ring(0), Owner: s.owner}
}

// at loads the word, and returns it with the limit that decides on it.
func (s *anySlot) at() (l *Limit, raw, cur uint64, c Cell) {
	raw = s.word.Load()
	l, cur = s.plan.Read(0, raw, s.o, s.seen)
	return l, raw, cur, s.cell(l)
}

// touch returns the time to serve a caller at, and by how much it is late.
func (s *anySlot) touch(now clock.Time) (at clock.Time, late int64) {
	b := slot{seen: s.seen, shift: s.shift, back: s.back, plan: noPlan}
	at, late = b.touch(now)
	s.move(b.seen)
	s.shift, s.back = b.shift, b.back
	return at, late
}

// noPlan is a plan for a slot of which only the times matter.
var noPlan = (*Plan)(nil).Next([]Named{{Limit: Limit{unit: 1}}}, "", 0)

// move moves the newest time on.
func (s *anySlot) move(now clock.Time) {
	if now != s.seen && !SameEra(now, s.seen) {
		l, _, cur, c := s.at()
		s.word.Store(l.Renew(cur, &c, s.seen, now))
	}
	s.seen = now
}

// take takes n tokens, n ≤ Most, at the newest time.
func (s *anySlot) take(n int64, urgent bool) bool {
	l, raw, cur, c := s.at()
	next, got := l.Try(cur, &c, s.seen, n, urgent)
	if got == Stale {
		panic("nobody else is there")
	}
	return got == Fits && (n == 0 || s.word.CompareAndSwap(raw, next))
}

func (s *anySlot) left(urgent bool) int64 {
	l, _, cur, c := s.at()
	return l.Left(cur, &c, s.seen, urgent)
}

func (s *anySlot) wait(n int64, urgent bool) int64 {
	l, _, cur, c := s.at()
	return l.Wait(cur, &c, s.seen, n, urgent)
}

func (s *anySlot) busy() int64 {
	l, _, cur, _ := s.at()
	return l.Busy(cur, s.o, s.seen)
}

func (s *anySlot) spent() int64 {
	l, _, cur, c := s.at()
	return l.Spent(cur, &c, s.seen)
}

func (s *anySlot) charge(n int64) {
	l, _, cur, c := s.at()
	next, got := l.Force(cur, &c, s.seen, n)
	if got != Fits {
		panic("nobody else is there")
	}
	s.word.Store(next)
}

func (s *anySlot) credit(n int64) {
	l, _, cur, c := s.at()
	if g := l.Relieve(cur, &c, s.seen, n); g.Swap {
		next := g.Word
		s.word.Store(next)
	}
}

// giveBack gives n tokens back that were taken at the time at, of a limit that is
// no token bucket.
func (s *anySlot) giveBack(at clock.Time, n int64) {
	l, _, cur, c := s.at()
	if g := l.Return(cur, &c, at, s.seen, n); g.Swap {
		next := g.Word
		s.word.Store(next)
	}
}

// publish puts l into force at at, or at the newest time if that is later. The
// change has not come to the key yet.
func (s *anySlot) publish(l Limit, at clock.Time) {
	if at > s.seen {
		s.back = false
		s.move(at)
	}
	s.plan = equipped(s.plan.Next([]Named{{Limit: l}}, "", s.seen))
}

// arrive brings the change that was published to the key.
func (s *anySlot) arrive() {
	raw := s.word.Load()
	l := s.limit()
	if Parity(raw) == l.Parity() {
		return
	}
	if prev := s.plan.Before(0, raw); prev != nil {
		c := s.cell(prev)
		s.word.Store(l.TakeOver(prev, raw, &c, l.Ring(0), s.plan.ChangedFor(s.seen)))
		return
	}
	_, cur := s.plan.Read(0, raw, s.o, s.seen)
	s.word.Store(cur)
}

func (s *anySlot) apply(l Limit, at clock.Time) {
	s.publish(l, at)
	s.arrive()
}

// kinds of limits, for what is tested of each.
var windowKinds = []Kind{Aligned, FromFirst, Rolling}

// windowed is a limit that is none of a token bucket.
type windowed struct {
	kind                        Kind
	tokens, span, skew, reserve int64
	wall                        clock.Wall
}

func (w windowed) compile() (l Limit, err error) {
	switch w.kind {
	case Aligned:
		l, err = NewAligned(w.tokens, w.span, w.skew, w.wall)
	case FromFirst:
		l, err = NewFromFirst(w.tokens, w.span, w.skew)
	case Rolling:
		l, err = NewRolling(w.tokens, w.span, w.skew)
	default:
		l, err = New(w.tokens, w.span, w.tokens)
	}
	if err == nil && w.reserve > 0 {
		l, err = l.WithReserve(w.reserve)
	}
	return l, err
}

func (w windowed) limit(t testing.TB) Limit {
	if w.kind == Aligned && w.wall == nil {
		w.wall = clock.NewManualWall(0)
	}
	l, err := w.compile()
	if err != nil {
		t.Fatalf("%+v: %v", w, err)
	}
	return l
}
