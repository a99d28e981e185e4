package redisync

import (
	"math/bits"
	"time"
)

// latency is a histogram of times with fixed bounds: four steps an octave, so that a
// quantile is at most a quarter too high. Once it has seen 2^16 times, all counts are
// halved: it tells of the recent past.
type latency struct {
	counts [4 * 64]uint32
	n      uint32
}

const latencyFull = 1 << 16

// bin returns the number of d's step: up to 3 ns by itself, then the two bits below
// the highest one and where that is.
func bin(d time.Duration) int {
	u := uint64(max(0, d))
	if u < 4 {
		return int(u)
	}
	e := bits.Len64(u) - 3
	return 4*e + int(u>>e)
}

// top returns the highest time of a step.
func top(i int) time.Duration {
	if i < 8 {
		return time.Duration(i)
	}
	e := i/4 - 1
	return time.Duration(uint64(i%4+5)<<e - 1)
}

func (h *latency) add(d time.Duration) {
	if h.n >= latencyFull {
		h.n = 0
		for i := range h.counts {
			h.counts[i] /= 2
			h.n += h.counts[i]
		}
	}
	h.counts[bin(d)]++
	h.n++
}

// quantile returns the time that a share q, 0 to 1, of what was seen did not exceed; 0
// before anything was.
func (h *latency) quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := max(1, uint32(q*float64(h.n)))
	for i, c := range h.counts {
		if c >= rank {
			return top(i)
		}
		rank -= c
	}
	return 0
}
