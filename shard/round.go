package shard

import (
	"math"

	"github.com/tickgate/tickgate/clock"
)

const (
	// exactSlots is up to how many slots a table's oldest tenth is found exactly;
	// a larger one is sampled, sampleSlots of its slots, about half of them keys.
	// A tenth of 1,000 keys is a quantile good to about one percentage point.
	exactSlots  = 4096
	sampleSlots = 2048

	// noneFull is the cutoff where no key is full.
	noneFull = math.MinInt64
)

// round begins a new round: a quota of a tenth of the table, and the access time
// that its oldest tenth does not exceed, reckoned over the keys that are full.
func (t *Table) round(now clock.Time) {
	stride := uint32(1)
	if t.slots > exactSlots {
		// Odd, so that no power of two in the layout resonates with it.
		stride = t.slots/sampleSlots | 1
	}
	tenth := max(t.maxKeys/10, 1)
	var o oldest
	o.keep = int(max(tenth/int64(stride), 1))
	for i := t.sweep.hand.Load() % stride; i < t.slots; i += stride {
		w, ok := t.candidate(i, now)
		if !ok {
			continue
		}
		if wait, _, ok := t.owes(w, now); ok && wait == 0 {
			o.add(w.s.seen.Load())
		}
	}
	t.sweep.cutoff.Store(o.youngest())
	t.sweep.quota.Store(tenth)
}

// oldest keeps the smallest few of many times: a heap with the largest on top.
type oldest struct {
	times [exactSlots / perKey / 10 * 2]int64
	n     int
	keep  int
}

func (o *oldest) add(at int64) {
	switch {
	case o.n < min(o.keep, len(o.times)):
		o.times[o.n] = at
		o.n++
		for i := o.n - 1; i > 0 && o.times[i] > o.times[(i-1)/2]; i = (i - 1) / 2 {
			o.times[i], o.times[(i-1)/2] = o.times[(i-1)/2], o.times[i]
		}
	case at < o.times[0]:
		o.times[0] = at
		for i := 0; ; {
			big := 2*i + 1
			if big >= o.n {
				return
			}
			if big+1 < o.n && o.times[big+1] > o.times[big] {
				big++
			}
			if o.times[i] >= o.times[big] {
				return
			}
			o.times[i], o.times[big] = o.times[big], o.times[i]
			i = big
		}
	}
}

// youngest returns the youngest of the kept times.
func (o *oldest) youngest() int64 {
	if o.n == 0 {
		return noneFull
	}
	return o.times[0]
}
