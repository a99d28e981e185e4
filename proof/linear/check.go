package linear

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// patience bounds one search. A right history is found to be right in milliseconds.
var patience = 10 * time.Second

// check reports whether a finished history is linearizable: Unknown if the search
// took too long.
func (m *spec) check(ops []*op) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(m.model(), m.operations(ops), patience)
}

func (m *spec) model() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(s, in, _ any) (next []any) {
			for _, t := range m.step(s.(state), in.(*op)) {
				next = append(next, t)
			}
			return next
		},
		Equal: func(a, b any) bool { return a.(state).equal(b.(state)) },
		Hash:  func(s any) uint64 { return s.(state).hash() },
	}
	return model.ToModel()
}

// stuck tells of a history that is not linearizable how far one gets with it: the last
// calls of the longest order that was found, and the first that do not fit on.
func (m *spec) stuck(ops []*op, start int64) string {
	const before, after = 20, 12
	_, info := porcupine.CheckOperationsVerbose(m.model(), m.operations(ops), patience)
	var best []*op
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, order := range orders {
			if len(order) > len(best) {
				best = best[:0]
				for _, o := range order {
					best = append(best, o.Input.(*op))
				}
			}
		}
	}
	var rest []*op
	for _, o := range ops {
		if !slices.Contains(best, o) {
			rest = append(rest, o)
		}
	}
	return text(best[max(0, len(best)-before):], start) + "and then not\n" + text(rest[:min(after, len(rest))], start)
}

// levels are the buckets of a key with up to two limits.
type levels [2]int64

// admits reports whether the takes of a history that were allowed, and not given
// back, can be put in an order in which exact buckets allow them all. Denials and
// answers do not count: it is never too much that is admitted, whatever it looked
// like to whom. Of the times at which a take may have been decided the earliest at
// which it fits is the best one for all that come later.
func admits(limits []limit, lag int64, ops []*op) porcupine.CheckResult {
	var kept []*op
	for _, o := range ops {
		if o.kind == take && o.n > 0 && o.got.allowed && !o.refunded {
			kept = append(kept, o)
		}
	}
	model := porcupine.Model{
		Init: func() any { return levels{} },
		Step: func(s, in, _ any) (bool, any) {
			full, o := s.(levels), in.(*op)
			at := max(o.now, o.lo-lag)
			for i, l := range limits {
				if above := full[i] + o.n*l.c - l.room(); above > 0 {
					at = max(at, ceil(above, l.q))
				}
			}
			for i, l := range limits {
				full[i] = max(full[i], at*l.q) + o.n*l.c
			}
			return at <= o.hi, full
		},
	}
	return porcupine.CheckOperationsTimeout(model, (&spec{}).operations(kept), patience)
}
