package shard

import (
	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// Refund is what [Pin.Take] told of a take that is to be given back.
type Refund struct {
	bucket.Charged
	N     int64
	Marks *Marks // what single limits were charged; nil: N each
	Slot  uint64 // Result.Slot: another key's is refused
	First uint64 // Result.First
	Gen   uint32 // of the plan it was taken under
}

// Refund gives back what a take took, as far as time has not refilled it already
// (bucket.GiveBack). now is the gate's clock. It gives back nothing on a limit
// that came, or changed its rate, after the take.
func (h *Pin) Refund(r Refund, now clock.Clock) {
	if r.Slot != h.w.id() || r.N <= 0 && r.Marks == nil {
		return
	}
	c := h.t.cold(h.w.i)
	given := c.busyWith()
	plan := h.p.plan.Load()
	most := int64(0)
	for i, k := range plan.Active {
		if !plan.Had(k, r.Gen) {
			continue
		}
		b := gift{n: r.N, charged: r.Charged, since: gave(r.Done, given), marks: r.Marks}
		if r.Marks != nil {
			b.n = int64(r.Marks[k].Cost)
		}
		if i == 0 {
			b.after = r.First
		}
		if b.n > 0 {
			most = max(most, h.t.giveBack(h.w, h.p, k, plan, b, now))
		}
	}
	c.gifts.end(given, most)
	h.t.mayBeFull(h.w.i, unknown) // the handle may have been released
}

// gift is what is to be given back of a charge to one limit.
type gift struct {
	n       int64
	charged bucket.Charged
	since   int64  // what was given back since, ns
	after   uint64 // the word that the charge left, if every take changes it
	alone   bool   // since is not known: reckon from the time of the charge
	marks   *Marks // of the charge, for budgets; nil: not known
}

// giveBack gives back on word k what may be, and returns what that was in
// nanoseconds of refill. If the plan changed since, nothing is given: the units are
// the old plan's. The parity alone would not tell, since that of the generation
// after the next is the same. The key is busy.
func (t *Table) giveBack(w place, p *Policy, k int, plan *bucket.Plan, b gift, clk clock.Clock) int64 {
	word, o := t.word(w.i, k), bucket.OriginOf(w.m.inc())
	l := &plan.Limits[k]
	if b.n = t.returned(w, p, plan, k, b.n, b.marks); b.n == 0 {
		return 0
	}
	for {
		raw := word.Load()
		// The time bounds those of the takes that are in the word: it is read after it.
		now := max(w.s.newest(clk), b.charged.At)
		if bucket.Parity(raw) != plan.Parity() || p.plan.Load().Gen() != plan.Gen() || !w.s.load().same(w.m) {
			return 0
		}
		var next uint64
		var ns int64
		if l.Kind() == bucket.TokenBucket {
			units := uint64(0)
			switch {
			case b.alone:
				units, ns = l.GiveBack(bucket.Charged{At: b.charged.At}, now, b.n, 0)
			case b.since == 0 && b.after != 0 && raw == b.after:
				// Nobody took or gave since: every take charges the first limit. Then
				// time refilled only this charge, and giving it all back leaves the
				// bucket as full as time would have made it.
				now = b.charged.At
				units, ns = l.GiveBack(bucket.Charged{At: now}, now, b.n, 0)
			default:
				units, ns = l.GiveBack(b.charged, now, b.n, b.since)
			}
			if units == 0 {
				return 0
			}
			next = l.Lower(raw, o, now, units)
		} else {
			c := t.state(w, k, l, raw)
			g := l.Return(raw, &c, b.charged.At, now, b.n)
			if !g.Swap {
				t.correct(w, k, -g.Tokens)
				if b.n -= g.Tokens; g.Again && b.n > 0 {
					continue
				}
				return 0
			}
			next = g.Word
		}
		if word.CompareAndSwap(raw, next) {
			t.correct(w, k, -b.n)
			return ns
		}
	}
}

// correct notes that the tokens used of limit k changed by other than admissions and
// charges. Where less was given back than was taken, as time had refilled some, it is
// noted in full: a venue's count that is used later then corrects to no less.
func (t *Table) correct(w place, k int, by int64) { t.cold(w.i).corrected[k].Add(uint32(by)) }

// Credit gives n tokens back that nobody of ours took back: whoever counts in
// truth says so. It goes down to nothing used.
func (h *Pin) Credit(now clock.Time, n int64) {
	at := h.at(now)
	c := h.t.cold(h.w.i)
	given := c.busyWith()
	most := int64(0)
	for _, k := range h.p.plan.Load().Active {
		_, ns := h.credit(k, at, n)
		most = max(most, ns)
	}
	c.gifts.end(given, most)
	h.t.mayBeFull(h.w.i, unknown)
}

// credit gives n tokens back to limit k, and returns how many it gave, and what
// that was in nanoseconds of refill. The key is busy.
func (h *Pin) credit(k int, at clock.Time, n int64) (tokens, ns int64) {
	word := h.t.word(h.w.i, k)
	n = h.t.returned(h.w, h.p, h.p.plan.Load(), k, n, nil)
	for n > 0 {
		raw, plan := loadWord(word, h.p)
		if !h.w.s.load().same(h.w.m) || !plan.Has(k) {
			break
		}
		l, cur := h.t.read(h.w, plan, k, raw, at)
		c := h.t.state(h.w, k, l, raw)
		g := l.Relieve(cur, &c, at, n)
		switch {
		case g.Swap && word.CompareAndSwap(raw, g.Word):
			h.t.correct(h.w, k, -g.Tokens)
			return g.Tokens, g.NS
		case g.Swap:
			continue
		}
		h.t.correct(h.w, k, -g.Tokens)
		tokens, n = tokens+g.Tokens, n-g.Tokens
		if !g.Again {
			break
		}
	}
	return tokens, 0
}

// CreditLimit is Credit for one limit. It reports false where there is none of
// that name.
func (h *Pin) CreditLimit(now clock.Time, limit string, n int64) bool {
	k := h.p.plan.Load().Index(limit)
	if k < 0 {
		return false
	}
	at := h.at(now)
	c := h.t.cold(h.w.i)
	given := c.busyWith()
	_, ns := h.credit(k, at, n)
	c.gifts.end(given, ns)
	h.t.mayBeFull(h.w.i, unknown)
	return true
}

// Unahead gives back what Ahead took when the policy has changed since, as long as
// none of it is due: from the limits that it was taken from and that are still there,
// in tokens.
func (h *Pin) Unahead(now clock.Time, marks *Marks, gen uint32) {
	at := h.at(now)
	c := h.t.cold(h.w.i)
	given := c.busyWith()
	most := int64(0)
	for k := range marks {
		if plan := h.p.plan.Load(); marks[k].Cost > 0 && plan.Has(k) && plan.Kept(k, gen) {
			_, ns := h.credit(k, at, int64(marks[k].Cost))
			most = max(most, ns)
		}
	}
	c.gifts.end(given, most)
	h.t.mayBeFull(h.w.i, unknown)
}
