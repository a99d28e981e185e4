package shard

// Occupancy returns how many keys each shard holds. It looks at the state of every slot,
// in about a nanosecond each.
func (t *Table) Occupancy() []int {
	keys := make([]int, t.slots/t.shardSlots)
	for i := range t.slots {
		if t.slot(i).load().visible() {
			keys[i/t.shardSlots]++
		}
	}
	return keys
}

// Slots returns how many slots there are, about two for each key that may be held.
func (t *Table) Slots() int { return int(t.slots) }
