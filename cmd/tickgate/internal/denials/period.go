package denials

import (
	"cmp"
	"slices"
	"time"
)

// Key is a key that was denied often.
type Key struct {
	Gate     string // that denied it
	Key      string // the key or its hash, as ShowKeys says
	Denied   uint64 // at most so often since the time that Top tells
	AtLeast  uint64 // and at least so often; the same unless there are too many keys to count
	Endpoint string // of the last time
	Last     time.Time
}

// turn begins a new period when the last one is over. Only two are kept, so that a key
// which was denied last week does not stand before one that is denied now.
func (l *Log) turn(at time.Time) {
	if l.turned.IsZero() {
		l.turned, l.since = at, at
		return
	}
	passed := at.Sub(l.turned)
	if passed < l.cfg.Period {
		return
	}
	l.now, l.before = l.before, l.now
	l.now.clear()
	if passed >= 2*l.cfg.Period { // the last one is too old as well
		l.before.clear()
		l.turned, l.since = at, at
		return
	}
	l.since, l.turned = l.turned, l.turned.Add(l.cfg.Period)
}

// Top returns the n keys that were denied most, the first the one denied most, and
// since when they are counted, one to two periods ago; the zero time before the first
// denial. now is the time of the question.
func (l *Log) Top(n int, now time.Time) (keys []Key, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.turned.IsZero() {
		l.turn(now)
	}
	// A key that one period does not list may have been there as often as the lowest
	// that it does.
	low, lowBefore := l.now.lowest(), l.before.lowest()
	for _, c := range l.now.heap {
		k := Key{c.gate, c.key, c.n + lowBefore, c.n - c.over, c.endpoint, c.last}
		if b := l.before.of[c.whose]; b != nil {
			n := l.before.heap[b.at].n
			k.Denied += n - lowBefore
			k.AtLeast += n - b.over
		}
		keys = append(keys, k)
	}
	for _, b := range l.before.heap {
		if l.now.of[b.whose] == nil {
			keys = append(keys, Key{b.gate, b.key, b.n + low, b.n - b.over, b.endpoint, b.last})
		}
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(b.Denied, a.Denied), cmp.Compare(b.AtLeast, a.AtLeast), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Gate, b.Gate))
	})
	return keys[:max(0, min(n, len(keys)))], l.since
}
