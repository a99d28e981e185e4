package bucket

import (
	"encoding/binary"
	"math"

	"github.com/tickgate/tickgate/clock"
)

// tape is a source of choices. Random tests and fuzzers share the code that
// reads one. An empty tape gives zeros.
type tape struct{ rest []byte }

// uint reads a number of so many bytes.
func (t *tape) uint(bytes int) uint64 {
	var b [8]byte
	t.rest = t.rest[copy(b[:bytes], t.rest):]
	return binary.LittleEndian.Uint64(b[:])
}

func (t *tape) below(n uint64) uint64 { return t.uint(1) % n }

func (t *tape) done() bool { return len(t.rest) == 0 }

const farthest = 1 << 62 // of the times that are tried, both ways

// time reads the time of the next call, of one that was at now and was told to
// retry after retry nanoseconds: equal, later, stale, set back, years later, or
// anywhere.
func (t *tape) time(l *Limit, now clock.Time, retry int64) clock.Time {
	var d int64
	switch t.below(14) {
	case 0, 1:
		return now
	case 2:
		d = int64(t.uint(2))
	case 3, 4: // up to two tokens' time
		d = int64(t.uint(1)) * max(1, ceilDiv(l.cost, l.unit)/128)
	case 5:
		d = retry - 1
	case 6:
		d = retry
	case 7:
		d = -int64(t.uint(2))
	case 8: // late, by less than what is a clock set back
		d = -int64(t.uint(4) * 2)
	case 9:
		d = -int64(t.uint(2)) * second
	case 10:
		d = int64(t.uint(4)) * 1000
	case 11:
		d = int64(t.uint(2)) * hour
	case 12:
		d = maxIdle + int64(int8(t.uint(1)))
	case 13:
		return clock.Time(int64(t.uint(8)) >> 1)
	}
	return min(max(now+clock.Time(min(max(d, -farthest), farthest-1)), -farthest), farthest)
}

// amount reads a number of tokens to take.
func (t *tape) amount(l *Limit) int64 {
	c := l.Capacity()
	switch t.below(8) {
	case 0:
		return c
	case 1:
		return c + 1
	case 2:
		return int64(t.uint(8)>>1) % (c + 1)
	case 3:
		return int64(t.uint(1))
	case 4:
		return 0
	}
	return 1
}

// anyAmount reads a number of tokens to charge or credit.
func (t *tape) anyAmount(l *Limit) int64 {
	switch t.below(8) {
	case 0:
		return math.MaxInt64
	case 1:
		return int64(t.uint(8) >> 1)
	case 2:
		return maxAhead/l.cost - int64(t.uint(1))
	}
	return min(t.amount(l), 1<<62)
}

// limit reads a limit: one of the exact rates, or any.
func (t *tape) limit() Limit {
	k := t.uint(1)
	if int(k) >= len(rates) {
		l, err := New(int64(t.uint(4))+1, int64(t.uint(6))+1, int64(t.uint(5))+1)
		if err == nil {
			return l
		}
	}
	r := rates[int(k)%len(rates)]
	l, err := New(r.tokens, r.per, r.capacity)
	if err != nil {
		panic(err)
	}
	return l
}
