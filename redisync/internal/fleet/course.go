package fleet

import "time"

// grain is how finely a course is kept.
const grain = 10 * time.Millisecond

// Course is what every node admitted over time: tokens in each grain, node after node.
type Course struct {
	nodes  int
	tokens []uint16
}

func newCourse(nodes int) *Course { return &Course{nodes: nodes} }

// note counts a token of a node.
func (c *Course) note(at time.Duration, node int) {
	i := int(at/grain)*c.nodes + node
	for len(c.tokens) <= i {
		c.tokens = append(c.tokens, make([]uint16, c.nodes)...)
	}
	c.tokens[i]++
}

// windows slides a window over the course, grain by grain, from one time to another, and
// has look see what each node admitted in it. look must keep nothing.
func (c *Course) windows(from, to, window time.Duration, look func(at time.Duration, tokens []int)) {
	sums := make([]int, c.nodes)
	add := func(i, sign int) {
		for n := range sums {
			if at := i*c.nodes + n; at < len(c.tokens) {
				sums[n] += sign * int(c.tokens[at])
			}
		}
	}
	first, last, width := int(from/grain), int(to/grain), int(window/grain)
	for i := first; i < last; i++ {
		add(i, 1)
		if i-first < width-1 {
			continue
		}
		begin := i - width + 1
		look(time.Duration(begin)*grain, sums)
		add(begin, -1)
	}
}

// Steady says from when on something is so.
type Steady struct {
	Window time.Duration // over which it was looked at
	After  time.Duration // from the event to the first window from which on every one was good
	Ever   bool          // there was one; else After means nothing
	Worst  float64       // the greatest deviation in the last window
}

// steady looks whether a deviation stays within a limit, in windows after an event.
func (c *Course) steady(from, to, window time.Duration, limit float64, deviation func(tokens []int) float64) Steady {
	s := Steady{Window: window}
	c.windows(from, to, window, func(at time.Duration, tokens []int) {
		s.Worst = deviation(tokens)
		if s.Worst > limit {
			s.Ever = false
		} else if !s.Ever {
			s.Ever, s.After = true, at-from
		}
	})
	return s
}
