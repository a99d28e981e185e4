package shard

import (
	"encoding/binary"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// AllowNamed is [Policy.Named], a reading of the clock, and [Table.Allow] in one,
// for the usual case: an apikey of at most 24 bytes that lies near its home position.
// The key stays in registers, and nothing is called but the hash, the clock and
// the take. Whatever is not usual is left to those three.
//
// The clock is read after the hash: the other way round was 8 ns slower, since
// the processor then had nothing left to do while it reads the counter.
func (t *Table) AllowNamed(p *Policy, apikey string, c *Ticker, n int64) Verdict {
	size := uint(len(apikey))
	if size-1 >= inlineKey {
		return t.allowNamed(p, apikey, c.Now(), n)
	}
	b := unsafe.Slice(unsafe.StringData(apikey), size) // only read
	var word head
	if size < 8 {
		word, _ = split(b)
	} else {
		// As split does it: the last word is loaded so that it ends with the key, and
		// shifted down to where it begins.
		var last uint64
		word.a, last = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[size-8:])
		if size > 16 {
			word.b, word.c = binary.LittleEndian.Uint64(b[8:]), last>>(8*(24-size))
		} else {
			word.b = last >> (8 * (16 - size))
		}
	}
	hash := mix(xxhash.Sum64String(apikey), p.salt)
	id := ident(hash, p.index, int(size), 0)
	base, off := t.home(hash)
	for to := min(off+near, t.shardSlots); off < to; off++ {
		i := base + off
		s := t.slot(i)
		m := s.load()
		if !m.visible() || s.ident.Load() != id ||
			s.key[0].Load() != word.a || s.key[1].Load() != word.b || s.key[2].Load() != word.c {
			continue
		}
		now := c.Now()
		v, _, _, _, _ := t.takeOne(place{i, s, m}, p, now, n)
		if v == several {
			v = t.rest(v, place{i, s, m}, p, now, n)
		}
		if v < moved {
			return v
		}
		break
	}
	return t.allowNamed(p, apikey, c.Now(), n)
}

// near is how many slots from its home position on a key is looked for before
// its header is asked how far it may be. At a load of one half two keys of three
// are at home, and nineteen of twenty within four slots.
const near = 4

// Ticker is a clock that is not called through an interface where it is the TSC.
type Ticker struct {
	TSC   *clock.TSC  // nil: another clock
	Other clock.Clock // that one
}

// Now reads the clock. Its order with earlier loads does not matter: a time that is
// some nanoseconds stale mints nothing.
func (c *Ticker) Now() clock.Time {
	if c.TSC != nil {
		return c.TSC.NowUnordered()
	}
	return c.Other.Now()
}

// allowNamed looks the key up in the usual way.
func (t *Table) allowNamed(p *Policy, apikey string, now clock.Time, n int64) Verdict {
	k := p.Named(apikey)
	return t.Allow(p, &k, now, n)
}

// TakeNear is [Table.Take] for the usual case: a key near its home position under
// a policy of one limit. What explains the decision is returned in registers:
// filling in a [Result] costs more than deciding. The verdict is [Elsewhere], and
// nothing has happened, where the case is not the usual one.
func (t *Table) TakeNear(p *Policy, k *Key, now clock.Time, n int64) (v Verdict, plan *bucket.Plan, word uint64, at clock.Time, late int64, slot uint64) {
	if w, ok := t.nearby(k); ok {
		if v, plan, word, at, late = t.takeOne(w, p, now, n); v < Elsewhere {
			return v, plan, word, at, late, w.id()
		}
	}
	return Elsewhere, nil, 0, 0, 0, 0
}

// OriginOf returns the origin of the axis of the key that [Result.Slot] names.
func OriginOf(slot uint64) bucket.Origin { return bucket.OriginOf(slot & (1<<(64-incShift) - 1)) }
