package shard

// countSeq counts an admission of w's key and returns how many there were. The
// count belongs to an incarnation, whose low bits are kept with it.
func (t *Table) countSeq(w place) uint64 {
	c := &t.cold(w.i).seq
	for {
		old := c.Load()
		n := old & (1<<seqBits - 1)
		if old>>seqBits != w.m.inc()&(1<<(64-seqBits)-1) {
			n = 0
		}
		if c.CompareAndSwap(old, w.m.inc()<<seqBits|(n+1)&(1<<seqBits-1)) {
			return n + 1
		}
	}
}

// seqBits holds the admissions of one key: 8.9 million millions.
const seqBits = 43
