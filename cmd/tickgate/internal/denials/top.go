package denials

import "time"

// top counts the keys that come most often, in space for k of them, by the
// space-saving algorithm (Metwally, Agrawal and El Abbadi, 2005): a key that is new
// takes the place of the one with the lowest count, and counts from there. So a count
// is never too low; it is too high by at most over, what the key started from, and
// that is at most n/k after n additions. A key that is more than n/k of them is there.
//
// The counts are a heap with the lowest at its root: an addition moves one entry down,
// log2(k) steps at most.
type top struct {
	k    int
	heap []place
	of   map[whose]*count
}

// whose is a key of a gate. The same key in two gates is two callers.
type whose struct{ gate, key string }

// place is an entry of the heap. The count stands in it, so that moving down looks at
// little else.
type place struct {
	n uint64
	*count
}

// count is what is known of one key.
type count struct {
	whose
	over     uint64 // of its count, what may be other keys'
	at       int    // in the heap
	endpoint string // of the last denial
	last     time.Time
}

func newTop(k int) *top { return &top{k: k, of: make(map[whose]*count, k)} }

// add counts a denial of a key.
func (t *top) add(key whose, endpoint string, at time.Time) {
	c := t.of[key]
	switch {
	case c != nil:
	case len(t.heap) < t.k:
		// Its count will be 1, which no other is below: it may stand at the end.
		c = &count{whose: key, at: len(t.heap)}
		t.heap = append(t.heap, place{count: c})
		t.of[key] = c
	default:
		c = t.heap[0].count
		delete(t.of, c.whose)
		c.whose, c.over = key, t.heap[0].n
		t.of[key] = c
	}
	c.endpoint, c.last = endpoint, at
	t.heap[c.at].n++
	t.down(c.at)
}

// lowest is the most that a key which is not there can have had.
func (t *top) lowest() uint64 {
	if len(t.heap) < t.k {
		return 0
	}
	return t.heap[0].n
}

// clear forgets all.
func (t *top) clear() {
	clear(t.heap)
	t.heap = t.heap[:0]
	clear(t.of)
}

// down moves the entry at i to where none below it is less.
func (t *top) down(i int) {
	p := t.heap[i]
	for {
		below := 2*i + 1
		if below >= len(t.heap) {
			break
		}
		if below+1 < len(t.heap) && t.heap[below+1].n < t.heap[below].n {
			below++
		}
		if t.heap[below].n >= p.n {
			break
		}
		t.heap[i] = t.heap[below]
		t.heap[i].at = i
		i = below
	}
	t.heap[i] = p
	p.at = i
}
