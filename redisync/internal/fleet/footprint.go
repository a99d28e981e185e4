package fleet

import (
	"fmt"
	"math/bits"
	"strconv"

	"github.com/tickgate/tickgate/redisync"
)

// Field is what Redis has of one node: its name, and epoch:total:seconds.
type Field struct {
	Slot                  redisync.Slot
	Epoch, Total, Seconds int64
}

// Footprint returns the bytes that Redis 7 (64 bits, jemalloc) says MEMORY USAGE of a budget
// on credit is that so many nodes use, all like f. Its expiry and its places in the tables of
// keys take some 60 to 120 besides.
//
//	16 object + 24 entry + name + a listpack                         up to 512 fields
//	16 object + 24 entry + name + 64 + 8 for each place in a table   more
//	   + for each field 24 entry + its name + its value
//
// A listpack is 7 bytes and its entries, and everything is rounded up to the allocator's
// classes, which are up to a quarter apart.
func Footprint(key string, p redisync.Policy, f Field, nodes int) int {
	value := fmt.Sprintf("%d:%d:%d", f.Epoch, f.Total, f.Seconds)
	common := []string{
		"l", "-1000000000000", "t", "1700000000000000", "f", "0",
		"p", fmt.Sprintf("%d:%d:%d:%d", p.V, p.A, p.B, p.C), "k", strconv.FormatInt(f.Seconds, 10),
	}
	usage := 16 + 24 + class(textSize(len(key)))
	fields := len(common)/2 + nodes
	if fields <= listpackMost {
		pack := 7 + nodes*(packed(string(f.Slot))+packed(value))
		for _, s := range common {
			pack += packed(s)
		}
		return usage + class(pack)
	}
	usage += 64 + 8<<bits.Len(uint(fields-1)) // a table is the power of two that holds them
	usage += nodes * (24 + class(textSize(len(f.Slot))) + class(textSize(len(value))))
	for i := 0; i < len(common); i += 2 {
		usage += 24 + class(textSize(len(common[i]))) + class(textSize(len(common[i+1])))
	}
	return usage
}

// listpackMost is Redis' hash-max-listpack-entries.
const listpackMost = 512

// packed is the size of a listpack entry: a header, what is in it, and its length again.
func packed(s string) int {
	size := 1 + len(s)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		switch {
		case n >= 0 && n < 1<<7:
			size = 1
		case n >= -1<<12 && n < 1<<12:
			size = 2
		case n >= -1<<15 && n < 1<<15:
			size = 3
		case n >= -1<<23 && n < 1<<23:
			size = 4
		case n >= -1<<31 && n < 1<<31:
			size = 5
		default:
			size = 9
		}
	} else if len(s) > 63 {
		size++
	}
	if size > 127 {
		return size + 2
	}
	return size + 1
}

// textSize is the size of a string: a header by its length, and a zero at the end.
func textSize(n int) int {
	if n < 32 {
		return 1 + n + 1
	}
	return 3 + n + 1
}

// class rounds up to what the allocator has: multiples of 16 up to 128, then four sizes in
// each power of two.
func class(n int) int {
	switch {
	case n <= 8:
		return 8
	case n <= 128:
		return (n + 15) &^ 15
	}
	step := 1 << (bits.Len(uint(n-1)) - 3)
	return (n + step - 1) &^ (step - 1)
}
