package idem

// gauge counts what is held, in one word of the window.
//
//	 63         35 34        25 24       0
//	┌─────────────┬────────────┬──────────┐
//	│ sequence 29 │ private 10 │ used 25  │
//	└─────────────┴────────────┴──────────┘
//
// used is the slots that are not free, and reservations for one; never above the
// capacity. private is those of them that are not published yet. sequence counts
// reservations: while it stands and private is 0, nothing is being inserted. It
// wraps, and would have to come round exactly while one call looks through the
// window, to be mistaken for standing: then calls may say Full too early, until
// the next that is fresh with an older time.
//
// An insert reserves before it claims a slot, and a slot is freed before used goes
// down, so there are never more slots taken than used says.
type gauge uint64

const (
	usedOne     = gauge(1)
	privateOne  = gauge(1) << 25
	sequenceOne = gauge(1) << 35
	maxPrivate  = 1<<10 - 1
)

func (g gauge) used() uint32     { return uint32(g & (privateOne - 1)) }
func (g gauge) private() uint32  { return uint32(g/privateOne) & maxPrivate }
func (g gauge) sequence() uint32 { return uint32(g / sequenceOne) }

// uncount takes n off. Fields do not borrow from each other: each is counted down
// only after it was counted up.
func (w *Window) uncount(n gauge) { w.gauge.Add(-uint64(n)) }

// reserve reserves room for one more id. It returns the gauge with the
// reservation, or without one the gauge that had no room.
func (w *Window) reserve() (gauge, bool) {
	for {
		g := gauge(w.gauge.Load())
		if g.used() >= w.cap || g.private() == maxPrivate {
			return g, false
		}
		next := g + usedOne + privateOne + sequenceOne
		// The swap is where the room is taken. A loser looks again: somebody else
		// reserved, published or freed.
		if w.gauge.CompareAndSwap(uint64(g), uint64(next)) {
			return next, true
		}
	}
}
