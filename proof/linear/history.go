package linear

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

type kind uint8

const (
	take    kind = iota // n = 0 looks
	refund              // of an allowed take
	charge              // after the fact
	credit              // by whoever counts in truth
	ban                 // until a time
	block               // of everybody or of the key, or the end of it
	venue               // a venue's count as of a take
	publish             // the beginning of an Apply: the new limits are there
	convert             // its end: what is known of the key is in their terms
	ghost               // a take by several keys that this key may have been charged for in vain
	returns             // of what a take by several keys took from this one
)

// gives reports whether calls of the kind give tokens back, or correct them, so that
// takes under way may not know what they gave.
func (k kind) gives() bool { return k == refund || k == credit || k == venue }

// bar is what barred a call, so that no limit decided.
type bar uint8

const (
	unbarred bar = iota
	banned
	blocked
)

// ternary is whether a call meets a block: what is open may be answered either way.
type ternary uint8

const (
	no ternary = iota
	yes
	either
)

// match is how much an answer tells of a key.
type match uint8

const (
	exactly match = iota
	atLeast       // another key's limit was the tightest: no less is left here
	vaguely       // only whether it was allowed
)

// op is one call as it was recorded.
type op struct {
	kind    kind
	id      int
	by      int   // goroutine
	key     int   // which of the keys
	now     int64 // the time that a take brought
	n       int64
	of      int   // the take that a refund gives back, or a venue answers
	until   int64 // of a ban
	used    int64 // that a venue counted
	at      int64 // when a take by several keys took what is returned
	plan    int   // that an Apply brings
	several bool  // one of several keys that are taken from together
	lift    bool  // of a block: its end
	all     bool  // of a block: of everybody
	urgent  bool
	match   match
	synced  bool  // of a take: a venue answered it
	plain   bool  // the take's decision is the gate's, which remembers less than a handle's
	call    int64 // order of begins and ends over all goroutines
	ret     int64
	begun   int64 // what the clock showed before the call
	hi      int64 // and after it
	got     answer

	// Of the history as a whole:
	lo       int64 // latest time of a take that returned before the call
	refunded bool  // a later op gives it back, or answers it
	during   []int // refunds that overlap it
	heard    int64 // of a refund: the last end of a take that overlaps it and is given back; or 0
	blocked  ternary
	changing bool    // it overlaps an Apply
	crowded  bool    // it overlaps one that may keep the key busy
	extras   []int64 // what takes by several keys that overlap it may hold meanwhile; of a venue's count, what is taken
}

// answer is what a take told, times in ns.
type answer struct {
	allowed      bool
	remaining    int64
	reset, retry int64
	bar          bar
}

// fits reports whether an answer that the specification gives is the one that a call got.
func (o *op) fits(a answer) bool {
	switch o.match {
	case vaguely:
		return a.allowed == o.got.allowed
	case atLeast:
		return a.allowed == o.got.allowed && a.remaining >= o.got.remaining
	}
	return a == o.got
}

// finish orders a history by begin and fills in what only the whole of it tells.
func finish(ops []*op) []*op {
	slices.SortStableFunc(ops, func(a, b *op) int { return int(a.call - b.call) })
	given := map[int]bool{}
	for _, o := range ops {
		if o.kind == refund || o.kind == venue {
			given[o.of] = true
		}
	}
	for _, o := range ops {
		o.lo, o.during, o.heard, o.refunded = math.MinInt64/2, nil, 0, o.kind == take && given[o.id]
		o.changing, o.crowded, o.extras = false, false, []int64{0}
		for _, p := range ops {
			switch {
			case p == o:
			case p.kind == take && p.n > 0 && p.ret < o.call:
				// A look tells nothing: where the key is not held, it leaves no trace.
				o.lo = max(o.lo, p.now)
			case p.call > o.ret || o.call > p.ret:
			case o.kind == venue && (p.kind == charge || p.kind == take && p.got.allowed):
				o.extras = withSums(o.extras, p.n)
			case p.kind.gives():
				o.during = append(o.during, p.id)
			case p.kind == publish:
				o.changing = true
			case p.rolls():
				o.crowded = true
				o.extras = withSums(o.extras, p.n)
			case p.kind == returns:
				o.crowded = true
			}
			if o.kind.gives() && p.kind == take && given[p.id] && !p.plain && p.call <= o.ret && o.call <= p.ret {
				o.heard = max(o.heard, p.ret)
			}
		}
	}
	bars(ops)
	return ops
}

// bars finds out which calls meet a block. Blocks of everybody, and of the key, are each
// one goroutine's, so their order is known; what overlaps one is open.
func bars(ops []*op) {
	for _, o := range ops {
		o.blocked = no
		for _, all := range []bool{false, true} {
			got := no
			for _, p := range ops { // in the order of their begins
				switch {
				case p.kind != block || p.all != all || p.call > o.ret:
				case p.ret > o.call:
					got = either
				case p.lift:
					got = no
				default:
					got = yes
				}
			}
			if got == yes || o.blocked == no {
				o.blocked = got
			}
		}
	}
}

// withSums returns the sums, and each of them with n more.
func withSums(sums []int64, n int64) []int64 {
	for _, s := range slices.Clone(sums) {
		if !slices.Contains(sums, s+n) {
			sums = append(sums, s+n)
		}
	}
	return sums
}

func (o *op) String() string {
	who := fmt.Sprintf("%4d..%-4d g%d #%d", o.call, o.ret, o.by, o.id)
	switch o.kind {
	case refund, venue:
		return fmt.Sprintf("%s %v of #%d, n=%d, used %d, clock %d..%d", who, o.kind, o.of, o.n, o.used, o.begun, o.hi)
	case take, ghost:
		return fmt.Sprintf("%s %v n=%d at %d, clock ..%d: %+v", who, o.kind, o.n, o.now, o.hi, o.got)
	}
	return fmt.Sprintf("%s %v n=%d, until %d, plan %d, all %v, lift %v, clock %d..%d", who, o.kind, o.n, o.until, o.plan, o.all, o.lift, o.begun, o.hi)
}

func (k kind) String() string {
	return [...]string{"take", "refund", "charge", "credit", "ban", "block", "count", "publish", "convert", "denial of several", "return"}[k]
}

// text is a history to read, times counted from start.
func text(ops []*op, start int64) string {
	var b strings.Builder
	for _, o := range ops {
		p := *o
		p.now, p.begun, p.hi, p.until = o.now-start, o.begun-start, o.hi-start, o.until-start
		fmt.Fprintln(&b, p.String())
	}
	return b.String()
}

// operations is a history as porcupine takes it. What only explains others is left out.
func (m *spec) operations(ops []*op) []porcupine.Operation {
	var all []porcupine.Operation
	for _, o := range ops {
		if o.kind != block && (o.kind != ghost || m.lossy) {
			all = append(all, porcupine.Operation{ClientId: o.by, Input: o, Call: o.call, Return: o.ret})
		}
	}
	return all
}
