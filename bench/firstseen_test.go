package bench

import (
	"testing"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/bench/internal/load"
)

const (
	// freshKeys is how many keys there are to be seen for the first time.
	freshKeys = 1_000_000

	// roomyKeys is the MaxKeys of the gate with room. It gets half as many
	// keys, then an empty gate takes its place outside the measured time.
	roomyKeys = 1 << 20

	// tightKeys is the MaxKeys of the gate without. A key comes again only
	// after freshKeys others, so it has always been evicted meanwhile.
	tightKeys = 1 << 16
)

// benchmarkFirstSeen measures the call of a key that the gate does not hold:
// keys=room while the gate has free places, keys=pressure where another key
// must go for it. The gate with room is kept from one run to the next: making
// one takes longer than filling it.
func benchmarkFirstSeen(b *testing.B) {
	var roomy *tickgate.Gate
	var keys []string
	next := 0
	b.Run("path=first-seen/clock=tsc/keys=room/outcome=allow/g=1", func(b *testing.B) {
		renew := func() {
			if roomy != nil {
				closeGate(b, roomy)
			}
			roomy, next = newGate(b, "tsc", roomyKeys, load.Allow), 0
		}
		if roomy == nil {
			keys = arrivals(freshKeys)[:roomyKeys/2]
			renew()
		}
		drive(b, 1, load.Allow, func(_, n int) (allowed int) {
			for range n {
				if next == len(keys) {
					b.StopTimer()
					renew()
					b.StartTimer()
				}
				allowed += count(roomy.Allow(keys[next], endpointName))
				next++
			}
			return allowed
		})
	})
	if roomy != nil {
		closeGate(b, roomy)
	}

	var tight *tickgate.Gate
	var s *stream
	b.Run("path=first-seen/clock=tsc/keys=pressure/outcome=allow/g=1", func(b *testing.B) {
		if tight == nil {
			tight, s = newGate(b, "tsc", tightKeys, load.Allow), newStream(freshKeys)
			for _, k := range s.keys {
				tight.Allow(k, endpointName)
			}
		}
		drive(b, 1, load.Allow, gateCalls(tight, s))
	})
	if tight != nil {
		closeGate(b, tight)
	}
}
