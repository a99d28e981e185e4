package redisync

import "strings"

const (
	slots     = 16384
	mostLanes = 64
)

// lanesOf gives each master of a cluster a lane of its own, as far as there are lanes,
// by who serves which slots at the start. Slots that move later stay in their lane:
// that costs some batching, and nothing else.
func lanesOf(servers []server) ([]uint8, int) {
	var owners []slotOwner
	for _, s := range servers {
		if len(s.owners) > len(owners) {
			owners = s.owners
		}
	}
	if len(owners) == 0 {
		return nil, 1
	}
	lanes := make([]uint8, slots)
	known := map[string]uint8{}
	for _, o := range owners {
		lane, ok := known[o.addr]
		if !ok {
			lane = uint8(len(known) % mostLanes)
			known[o.addr] = lane
		}
		for slot := max(0, o.from); slot <= min(o.to, slots-1); slot++ {
			lanes[slot] = lane
		}
	}
	return lanes, min(len(known), mostLanes)
}

// Lanes returns how many groups of keys fail together: the masters that a cluster had
// when it was dialled, 1 to 64; 1 elsewhere.
func (c *Client) Lanes() int { return c.count }

// Lane returns the group of a key, from 0.
func (c *Client) Lane(key string) int {
	if c.lanes == nil {
		return 0
	}
	return int(c.lanes[slotOf(key)])
}

// slotOf returns the slot of a key in a cluster: of what is in its first braces, if
// that is not empty, else of all.
func slotOf(key string) int {
	if from := strings.IndexByte(key, '{'); from >= 0 {
		if n := strings.IndexByte(key[from+1:], '}'); n > 0 {
			key = key[from+1 : from+1+n]
		}
	}
	// CRC-16, polynomial x^16 + x^12 + x^5 + 1, from 0.
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			high := crc&0x8000 != 0
			crc <<= 1
			if high {
				crc ^= 0x1021
			}
		}
	}
	return int(crc % slots)
}
