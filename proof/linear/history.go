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
	take   kind = iota // n = 0 looks
	refund             // of an allowed take
)

// op is one call as it was recorded.
type op struct {
	kind  kind
	id    int
	by    int   // goroutine
	now   int64 // the time that a take brought
	n     int64
	of    int   // the take that a refund gives back
	plain bool  // the take's decision is the gate's, which remembers less than a handle's
	call  int64 // order of begins and ends over all goroutines
	ret   int64
	begun int64 // what the clock showed before the call
	hi    int64 // and after it
	got   answer

	// Of the history as a whole:
	lo       int64 // latest time of a take that returned before the call
	refunded bool  // a later op gives it back
	during   []int // refunds that overlap it
	until    int64 // of a refund: the last end of a take that overlaps it and is given back; or 0
}

// answer is what a take told, times in ns.
type answer struct {
	allowed      bool
	remaining    int64
	reset, retry int64
}

// finish orders a history by begin and fills in what only the whole of it tells.
func finish(ops []*op) []*op {
	slices.SortFunc(ops, func(a, b *op) int { return int(a.call - b.call) })
	given := map[int]bool{}
	for _, o := range ops {
		if o.kind == refund {
			given[o.of] = true
		}
	}
	for _, o := range ops {
		o.lo, o.during, o.until, o.refunded = math.MinInt64/2, nil, 0, o.kind == take && given[o.id]
		for _, p := range ops {
			switch {
			case p == o:
			case p.kind == take && p.n > 0 && p.ret < o.call:
				// A look tells nothing: where the key is not held, it leaves no trace.
				o.lo = max(o.lo, p.now)
			case p.call > o.ret || o.call > p.ret:
			case p.kind == refund:
				o.during = append(o.during, p.id)
			case o.kind == refund && given[p.id] && !p.plain:
				o.until = max(o.until, p.ret)
			}
		}
	}
	return ops
}

func (o *op) String() string {
	who := fmt.Sprintf("%4d..%-4d g%d #%d", o.call, o.ret, o.by, o.id)
	if o.kind == refund {
		return fmt.Sprintf("%s refund of #%d, n=%d, clock %d..%d", who, o.of, o.n, o.begun, o.hi)
	}
	return fmt.Sprintf("%s take n=%d at %d, clock ..%d: %+v", who, o.n, o.now, o.hi, o.got)
}

// text is a history to read, times counted from start.
func text(ops []*op, start int64) string {
	var b strings.Builder
	for _, o := range ops {
		p := *o
		p.now, p.begun, p.hi = o.now-start, o.begun-start, o.hi-start
		fmt.Fprintln(&b, p.String())
	}
	return b.String()
}

// operations is a history as porcupine takes it.
func operations(ops []*op) []porcupine.Operation {
	all := make([]porcupine.Operation, len(ops))
	for i, o := range ops {
		all[i] = porcupine.Operation{ClientId: o.by, Input: o, Call: o.call, Return: o.ret}
	}
	return all
}
