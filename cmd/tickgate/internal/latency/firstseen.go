package latency

import (
	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

const (
	// roomKeys is how many keys a gate with room sees before an empty one takes its
	// place, outside the measured time; the gate holds twice as many.
	roomKeys = 1 << 17
	// fullKeys is the size of the gate without room. Its keys come again after
	// fullTurns times as many others, so that each was evicted meanwhile.
	fullKeys, fullTurns = 1 << 15, 16
)

// firstRoom measures keys that a gate does not hold and has room for.
func (r *rig) firstRoom(p *path) {
	p.what = "Gate.Allow, a key never seen, with room"
	var g *tickgate.Gate
	s, k, left := inOrder(0, roomKeys), "", 0
	p.ready = func() (int, error) {
		if left < roomKeys/2 {
			if g != nil {
				_ = g.Close()
			}
			var err error
			if g, err = newGate(2*roomKeys, r.clock); err != nil {
				return 0, err
			}
			s.at, left = 0, roomKeys
		}
		return left, nil
	}
	r.close = append(r.close, func() {
		if g != nil {
			_ = g.Close()
		}
	})
	p.next = func() {
		k = s.next()
		left--
	}
	p.call = func(clock.Time) int { return one(g.Allow(k, open)) }
}

// firstFull measures keys that a gate does not hold, and must drop others for.
func (r *rig) firstFull(p *path) error {
	p.what = "Gate.Allow, a key never seen, in a full gate"
	g, err := newGate(fullKeys, r.clock)
	if err != nil {
		return err
	}
	r.close = append(r.close, func() { _ = g.Close() })
	s, k := inOrder(0, fullTurns*fullKeys), ""
	for range 2 * fullKeys {
		g.Allow(s.next(), open)
	}
	p.next = func() { k = s.next() }
	p.call = func(clock.Time) int { return one(g.Allow(k, open)) }
	return nil
}
