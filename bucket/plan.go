package bucket

import "github.com/tickgate/tickgate/clock"

// MaxLimits is the most limits that one policy may have: one word each.
const MaxLimits = 8

// Plan is one generation of the limits of a policy, compiled. It is immutable
// once published; a change of the policy publishes the next plan.
//
// A limit keeps its index, which is the index of its word in every slot, over
// all generations; a removed one leaves a hole. So a word is always converted
// from the same word.
//
// A word tells by its parity which of two generations it is of. The parity of the
// generation after the next is the same; so the axis of every generation begins
// elsewhere, and a swap that was prepared before two changes finds another number,
// also where they left the rate alone.
type Plan struct {
	Active []int            // indexes of the limits in force, ascending
	Limits [MaxLimits]Limit // by index; meaningful where active
	Names  [MaxLimits]string
	Single bool // the only limit is a token bucket in word 0: the common, fast case
	Pair   bool // the only limits are token buckets in the words 0 and 1
	Lone   bool // the only limit is the one in word 0, of another kind
	Shared bool // the only limits are a token bucket in word 0 and a Budget in word 1

	// Order is Active with the budgets first: they are charged before the limit that
	// they stand beside, so that whoever reads that limit's word and then the budget's
	// finds everything in the second that is in the first.
	Order []int

	// Budgets is the bit set of the limits of the kind Budget.
	Budgets uint32
	of      [MaxLimits]string // by index: the name of the limit that a budget is for

	// Blocked admits urgent calls only. Such a plan is none of the fast cases.
	Blocked bool

	// Init is the bit set of the words that a new slot must write: those in force
	// and those that the next generation is about to bring into force.
	Init uint32

	// Deny admits nothing, whatever the limits: the policy has a limit "deny",
	// named DenyName.
	Deny     bool
	DenyName string

	prev *Plan // the generation before; its own prev is nil
	// coming are the rolling limits that the next generation brings: their rings are
	// opened for every key before it comes into force.
	coming [MaxLimits]*Limit

	fresh   uint32            // bit set of the limits that prev lacks: they start full
	changed clock.Time        // when this generation began
	gen     uint32            // counts generations
	unnamed uint32            // bit set of the limits that were given no name of their own
	since   [MaxLimits]uint32 // by index: the generation that brought the limit its rate
	born    [MaxLimits]uint32 // by index: the generation that brought the limit
}

// Named is a limit with its name, as [Plan.Next] takes them.
type Named struct {
	Name    string
	Unnamed bool // the name only says what the limit is, so it changes with it
	Limit   Limit
	Of      string // of a budget: the name of the limit that it is for
}

// Next compiles the generation after p, in force from at. Limits are matched by
// name; of the unnamed ones, those that this leaves over are matched in their
// order. A limit that p lacks takes a free index and starts full. p == nil makes
// the first generation. deny, if not empty, is the name of a limit that admits
// nothing. len(limits) must be ≤ MaxLimits and names must differ.
func (p *Plan) Next(limits []Named, deny string, at clock.Time) *Plan {
	next := &Plan{changed: at, Deny: deny != "", DenyName: deny}
	parity := uint64(0)
	if p != nil {
		before := *p
		before.prev, before.coming = nil, [MaxLimits]*Limit{} // a chain of generations would never be freed
		next.prev = &before
		next.gen = p.gen + 1
		next.since, next.born = p.since, p.born
		parity = p.Parity() ^ parityBit
	}
	var taken [MaxLimits]bool
	index := make([]int, len(limits))
	for i, l := range limits {
		index[i] = p.Index(l.Name)
		if index[i] >= 0 {
			taken[index[i]] = true
		}
	}
	for i, l := range limits {
		if index[i] < 0 && l.Unnamed {
			if k := p.unnamedBut(&taken, l.Limit.kind == Budget); k >= 0 {
				index[i], taken[k] = k, true
			}
		}
	}
	for i, l := range limits {
		k := index[i]
		for j := 0; k < 0; j++ {
			if !taken[j] {
				k, taken[j] = j, true
				next.fresh |= 1 << k
				next.since[k], next.born[k] = next.gen, next.gen
			}
		}
		next.Limits[k] = l.Limit.of(next.gen, parity)
		if p != nil {
			next.Limits[k] = next.Limits[k].widened(&p.Limits[k])
			if next.fresh>>k&1 == 0 && p.Limits[k].roll.span == next.Limits[k].roll.span && p.Limits[k].rings.Serve(&next.Limits[k]) {
				next.Limits[k] = next.Limits[k].WithRings(p.Limits[k].rings)
			}
			if !next.Limits[k].sameUnits(&p.Limits[k]) {
				next.since[k] = next.gen
			}
		}
		next.Names[k], next.of[k] = l.Name, l.Of
		if l.Limit.kind == Budget {
			next.Budgets |= 1 << k
			next.Order = append(next.Order, k)
		}
		if l.Unnamed {
			next.unnamed |= 1 << k
		}
		next.Init |= 1 << k
	}
	for k := range MaxLimits {
		if next.Init>>k&1 == 0 {
			next.Limits[k] = next.Limits[k].of(next.gen, parity)
		}
		if next.Init>>k&1 == 1 {
			next.Active = append(next.Active, k)
			if next.Budgets>>k&1 == 0 {
				next.Order = append(next.Order, k)
			}
		}
	}
	next.Blocked = p != nil && p.Blocked
	next.sort()
	return next
}

// sort finds out which of the fast cases the plan is.
func (p *Plan) sort() {
	p.Single, p.Pair, p.Lone, p.Shared = false, false, false, false
	if p.Blocked || p.Deny {
		return
	}
	a := p.Active
	switch {
	case len(a) == 1 && a[0] == 0:
		p.Single = p.Limits[0].kind == TokenBucket
		p.Lone = !p.Single
	case len(a) == 2 && a[0] == 0 && a[1] == 1:
		p.Pair = p.Limits[0].kind == TokenBucket && p.Limits[1].kind == TokenBucket
		p.Shared = p.Limits[0].kind == TokenBucket && p.Limits[1].kind == Budget
	}
}

// WithBlock returns p, or p with everything but urgent calls blocked. It is the
// same generation.
func (p *Plan) WithBlock(blocked bool) *Plan {
	q := *p
	q.Blocked = blocked
	q.sort()
	return &q
}

// Has reports whether limit k is in force.
func (p *Plan) Has(k int) bool { return p.Init>>k&1 == 1 && p.Limits[k].most > 0 }

// Kept reports whether limit k has been there since generation gen, at whatever rate.
func (p *Plan) Kept(k int, gen uint32) bool { return int32(gen-p.born[k]) >= 0 }

// Steady reports whether all limits are token buckets.
func (p *Plan) Steady() bool {
	for _, k := range p.Active {
		if p.Limits[k].kind != TokenBucket {
			return false
		}
	}
	return true
}

// Prepare returns p with the words of next among those that a new slot writes.
// It is published before next, so that no word comes into force that carries a
// parity nobody wrote.
func (p *Plan) Prepare(next *Plan) *Plan {
	q := *p
	q.Init |= next.Init
	for _, k := range next.Active {
		if next.fresh>>k&1 == 1 && next.Limits[k].rings != nil {
			q.coming[k] = &next.Limits[k]
		}
	}
	return &q
}

// Coming returns the rolling limit that the next generation brings as limit k, nil if
// it does not.
func (p *Plan) Coming(k int) *Limit { return p.coming[k] }

// BringsRings reports whether p brings rolling limits that its predecessor lacked.
func (p *Plan) BringsRings() bool {
	for _, k := range p.Active {
		if p.fresh>>k&1 == 1 && p.Limits[k].rings != nil {
			return true
		}
	}
	return false
}

// Parity returns the parity of the words of this generation.
func (p *Plan) Parity() uint64 { return p.Limits[0].Parity() }

// Gen numbers the generations of a policy: 0, 1, 2, …
func (p *Plan) Gen() uint32 { return p.gen }

// Had reports whether limit i was already in force, at the same rate, in
// generation gen: then what was charged under gen is in this plan's units.
func (p *Plan) Had(i int, gen uint32) bool { return int32(gen-p.since[i]) >= 0 }

// Read returns the limit that decides on word i as it was loaded, and the word in
// that limit's terms. Usually that is the limit in force and w itself. A word of
// the generation before is converted, as of the time of the change; where that
// takes more than the word (Limit.Converts), the limit of before stays in force
// for the key until the change has come to it.
//
// newest bounds the times of the takes in the word, and was determined after it was
// loaded: none may be later than the time as of which the word is converted, or time
// at the new rate would be credited to what was used after it.
func (p *Plan) Read(i int, w uint64, o Origin, newest clock.Time) (*Limit, uint64) {
	l := &p.Limits[i]
	if l.Reads(w) || p.prev == nil {
		return l, w
	}
	at := p.ChangedFor(newest)
	if p.fresh>>i&1 == 1 {
		return l, l.Convert(nil, w, o, at)
	}
	prev := &p.prev.Limits[i]
	if !l.Converts(prev) {
		return prev, w
	}
	if !SameEra(at, newest) && l.kind != Rolling {
		// Else full for years looks like in debt.
		w = prev.Renew(w, &Cell{Origin: o}, newest, at)
	}
	return l, l.Convert(prev, w, o, at)
}

// Before returns the limit that decides on word i, as it was loaded, until the
// change has come to the key, nil if none does any more.
func (p *Plan) Before(i int, w uint64) *Limit {
	l := &p.Limits[i]
	if l.Reads(w) || p.prev == nil || p.fresh>>i&1 == 1 || l.Converts(&p.prev.Limits[i]) {
		return nil
	}
	return &p.prev.Limits[i]
}

// ChangedFor is when the change was for a word whose takes are not later than newest.
func (p *Plan) ChangedFor(newest clock.Time) clock.Time { return max(p.changed, newest) }

// Begin dates the change: to be called just before the plan is published.
func (p *Plan) Begin(at clock.Time) { p.changed = at }

// Index returns the index of the limit in force with a name, -1 without one.
func (p *Plan) Index(name string) int {
	if p != nil {
		for _, k := range p.Active {
			if p.Names[k] == name {
				return k
			}
		}
	}
	return -1
}

// CostName returns the name of the limit by which what limit k is to be charged is
// told: its own, or of a budget that of the limit it is for.
func (p *Plan) CostName(k int) string {
	if p.of[k] != "" {
		return p.of[k]
	}
	return p.Names[k]
}

// Beside reports whether limit k is a budget that stands beside another limit: that
// one says what is left of the policy's.
func (p *Plan) Beside(k int) bool { return p.Budgets>>k&1 == 1 && p.Bounded(k) >= 0 }

// Leased reports whether a key may take nothing before it was granted some.
func (p *Plan) Leased() bool {
	for set, k := p.Budgets, 0; set != 0; set, k = set>>1, k+1 {
		if set&1 == 1 && p.Limits[k].budget.mode == OnLease {
			return true
		}
	}
	return false
}

// Bounded returns the index of the limit that budget k stands beside, -1 if it stands
// in its place.
func (p *Plan) Bounded(k int) int { return p.Index(p.of[k]) }

// unnamedBut returns the first unnamed limit that is not taken, a budget or none, -1
// without one.
func (p *Plan) unnamedBut(taken *[MaxLimits]bool, budget bool) int {
	if p != nil {
		for _, k := range p.Active {
			if p.unnamed>>k&1 == 1 && !taken[k] && (p.Budgets>>k&1 == 1) == budget {
				return k
			}
		}
	}
	return -1
}
