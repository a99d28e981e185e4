package envoyrls

import (
	"maps"

	"github.com/tickgate/tickgate"
)

// bars are who is blocked in the gate. They are immutable.
//
// The gate denies what it is asked for. But a request may match nothing that it is asked
// for: entries that are unlimited, in shadow mode, replaced, or none. What is blocked must
// not pass there either, so the server knows it too, without a lock.
type bars struct {
	everyone bool
	keys     map[string]struct{}
}

// has reports whether a key is blocked; "" is that of a descriptor that no entry matches.
func (b *bars) has(key string) bool {
	if b.everyone {
		return true
	}
	_, blocked := b.keys[key]
	return blocked
}

// none reports whether nobody is blocked.
func (b *bars) none() bool { return !b.everyone && len(b.keys) == 0 }

// after returns the bars after a change.
func (b *bars) after(c *tickgate.Change) *bars {
	if c.APIKey == "" {
		return &bars{c.What == tickgate.BlockSet, b.keys}
	}
	next := &bars{b.everyone, maps.Clone(b.keys)}
	if c.What == tickgate.BlockLift {
		delete(next.keys, c.APIKey)
		return next
	}
	if next.keys == nil {
		next.keys = map[string]struct{}{}
	}
	next.keys[c.APIKey] = struct{}{}
	return next
}

// audited returns the gate's audit hook: it notes who is blocked, and tells next. The gate
// calls it under its lock, before Block and Unblock return.
func (s *Server) audited(next func(tickgate.Change)) func(tickgate.Change) {
	return func(c tickgate.Change) {
		if c.What != tickgate.Applied && c.Err == nil {
			s.bars.Store(s.bars.Load().after(&c))
		}
		if next != nil {
			next(c)
		}
	}
}

// bar marks the descriptors that are blocked where the gate would not deny them: it is not
// asked, or what it says is not enforced. All others are left to the gate, which counts them.
func (q *request) bar(b *bars) {
	if b.none() {
		return
	}
	for i := range q.items {
		it := &q.items[i]
		if !q.asks(it) && b.has(it.key) {
			it.barred, q.over = true, true
		}
	}
}

// asks reports whether the gate decides about it.
func (q *request) asks(it *item) bool {
	return it.rule != nil && !it.rule.unlimited && q.members[it.member].enforced()
}
