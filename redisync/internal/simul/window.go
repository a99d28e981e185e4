package simul

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/tickgate/tickgate/redisync"
)

// log is what happened to one key.
type log struct {
	uses  []use
	jumps []jump
}

// use is an admission: by whom, and how many tokens; 0 if they were given back.
type use struct {
	at   int64 // µs
	node int   // under 64; a process that starts again is another one
	n    int64
}

// jump is an amount, in millionths of a token, by which Redis' level was raised by
// other than refill: what a loss of data costs.
type jump struct{ at, by int64 }

// grain is how far a gate's times may lie behind its clock, µs, at either end of a
// window.
const grain = 2 * 66

// check holds every window, from one use to another, against
//
//	C + r·τ + (M − 1)·credit + jumps
//
// M being the nodes that used the key in it; on a lease, credit is 0. Jumps up to after
// before it, µs, count for a window too. It returns the most tokens beyond C + r·τ that
// a window had, at least 0, and an error for the first window that breaks the bound.
func (l *log) check(p redisync.Policy, credit, after int64) (most float64, err error) {
	for i, first := range l.uses {
		sum, nodes := int64(0), uint64(0)
		jumped, j := int64(0), 0
		for ; j < len(l.jumps) && l.jumps[j].at < first.at-after; j++ {
		}
		for _, u := range l.uses[i:] {
			for ; j < len(l.jumps) && l.jumps[j].at <= u.at; j++ {
				jumped += l.jumps[j].by
			}
			if u.n == 0 {
				continue
			}
			sum += u.n
			nodes |= 1 << u.node
			budget := float64(p.C) + float64(u.at-first.at+grain)*float64(p.A)/float64(p.B)
			over := float64(sum*redisync.Unit) - budget
			most = max(most, over/redisync.Unit)
			others := int64(bits.OnesCount64(nodes) - 1)
			if over > float64(others*credit*redisync.Unit+jumped)+1 {
				return most, fmt.Errorf("from %v to %v %d tokens were used by %d nodes, %.3f beyond capacity and refill; %.3f tokens were raised",
					time.Duration(first.at)*time.Microsecond, time.Duration(u.at)*time.Microsecond, sum, others+1, over/redisync.Unit, float64(jumped)/redisync.Unit)
			}
		}
	}
	return most, nil
}
