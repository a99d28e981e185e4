package bucket

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// fork returns a key in the same state, with a ring of its own.
func (s *anySlot) fork() *anySlot {
	f := &anySlot{o: s.o, owner: s.owner, seen: s.seen, shift: s.shift, back: s.back}
	plan := *s.plan
	f.plan = &plan
	f.plan.Limits[0].rings = nil
	f.plan = equipped(f.plan)
	if l := f.limit(); l.RingWords() > 0 {
		for k := range uint64(l.RingWords()) {
			l.Ring(0).word(k).Store(s.limit().Ring(0).word(k).Load())
		}
	}
	f.word.Store(s.word.Load())
	return f
}

// at moves a fork on to a time and asks it for n tokens.
func (s *anySlot) passesAt(at clock.Time, n int64, urgent bool) bool {
	f := s.fork()
	f.touch(at)
	return f.take(n, urgent)
}

// Who asks again exactly after the wait passes, one nanosecond before does not, if
// nobody else took; and at the end of Busy all is there, before it something counts.
func TestWindowWaitIsExact(t *testing.T) {
	for _, kind := range windowKinds {
		t.Run(kindNames[kind], func(t *testing.T) {
			rng := rand.New(rand.NewPCG(35, uint64(kind)))
			waited := 0
			for range 1500 {
				b := make([]byte, 60+rng.IntN(300))
				for i := range b {
					b[i] = byte(rng.Uint32())
				}
				tape := &tape{b}
				w := tape.windowed(kind)
				w.wall = clock.NewManualWall(0)
				p := &windowPair{TB: t, w: w, s: newAnySlot(w.limit(t), tape.uint(2), 0)}
				for !tape.done() {
					waited += p.asks(tape)
				}
			}
			require.Greater(t, waited, 1000)
		})
	}
}

// asks takes, and checks what it is told. It returns 1 if it was told to wait.
func (p *windowPair) asks(tape *tape) (waited int) {
	p.now = p.moment(tape)
	p.s.touch(p.now)
	l, urgent := p.s.limit(), tape.below(3) == 0
	n := min(tape.weight(l, urgent), l.Most(urgent))
	wait := p.s.wait(n, urgent)
	p.retry = wait
	if wait > 0 {
		waited = 1
		require.True(p, p.s.passesAt(p.s.seen+clock.Time(wait), n, urgent), "%+v: %d after %d", p.w, n, wait)
		if l.window.quant == 0 {
			require.False(p, p.s.passesAt(p.s.seen+clock.Time(wait)-1, n, urgent), "%+v: %d before %d", p.w, n, wait)
		}
	}
	if busy := p.s.busy(); busy > 0 {
		f := p.s.fork()
		f.touch(f.seen + clock.Time(busy) - 1)
		if l.window.quant == 0 {
			require.Positive(p, f.spent(), "%+v", p.w)
		}
		f.touch(f.seen + 1)
		require.Zero(p, f.spent(), "%+v", p.w)
		require.Equal(p, l.Most(true), f.left(true))
		require.Equal(p, l.Most(false), f.left(false))
	} else {
		require.Zero(p, p.s.spent())
	}
	left := p.s.left(urgent)
	require.Equal(p, left >= n, p.s.fork().take(n, urgent) || n == 0, "%d of %d left", n, left)
	if p.s.take(n, urgent) && n > 0 && tape.below(4) == 0 {
		p.s.charge(tape.weight(l, true))
	}
	return waited
}
