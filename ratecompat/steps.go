package ratecompat

import "github.com/tickgate/tickgate/clock"

// step leads from one generation to the next.
type step struct {
	gen    uint64 // the next
	change *terms // its terms, if the limit or the burst changed

	// Without a change something was given back: units of the axis from base on. All
	// that was charged beyond moved down by that much.
	base  uint64
	units uint64
	turn  uint64 // [terms.turn]
}

// apply brings c from the generation before into the step's.
func (s *step) apply(c *claim) {
	c.gen = s.gen
	if s.change == nil {
		if int64(c.mark-s.base) > 0 {
			c.mark -= s.units
		}
		c.mark = (c.mark + s.turn) ^ 1
		return
	}
	p, at := s.change.prev, s.change.since
	if at > c.at {
		c.mark = p.reach(c, at)
		c.at = at
	}
	c.mark = s.change.convert(c.mark)
}

// reach returns c's mark so that it can be read at a time, however long after c it
// is: what time has refilled is written down as full.
func (t *terms) reach(c *claim, at clock.Time) uint64 {
	if t.still || at <= c.at {
		return c.mark
	}
	return t.bucket.Rebase(c.mark, t.origin, c.at, at)
}

// maxSteps bounds what is remembered of the past, 48 bytes each. A reservation
// that more steps came after cannot be given back.
const maxSteps = 4096

// steps are the latest steps, without a gap, oldest first. Guarded by Limiter.mu.
type steps struct{ list []step }

// add notes a step. When there are too many, the older half is forgotten.
func (s *steps) add(t step) {
	if len(s.list) == maxSteps {
		n := copy(s.list, s.list[maxSteps/2:])
		clear(s.list[n:])
		s.list = s.list[:n]
	}
	s.list = append(s.list, t)
}

// bring brings c into generation gen, the latest. It reports false if it was too
// long ago.
func (s *steps) bring(c *claim, gen uint64) bool {
	if c.gen == gen {
		return true
	}
	if len(s.list) == 0 || c.gen+1 < s.list[0].gen {
		return false
	}
	for i := c.gen + 1 - s.list[0].gen; i < uint64(len(s.list)); i++ {
		s.list[i].apply(c)
	}
	return true
}
