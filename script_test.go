package tickgate_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// grain is by how much a decision may be dated before the newest one of its key.
const grain = 1 << 16

// script plays calls against a gate and keeps, for every key, what was admitted,
// in the order of the calls. Times run forward with late calls in between, none
// later than lateBy, so no clock counts as set back.
type script struct {
	t     testing.TB
	gate  *tickgate.Gate
	clock *clock.Manual
	limit policy.Limit
	keys  map[string]*history
}

// history is what one key got.
type history struct {
	newest  clock.Time // of any call: what the key's time may have come to
	charged clock.Time // of a call that took: what it has come to at least
	events  []admission
	open    []int // events that may be refunded
	handle  tickgate.Handle
}

type admission struct {
	from, to clock.Time // the key's time at the decision lies between these
	n        int64
	decision tickgate.Decision
	gone     bool // refunded
}

const lateBy = 9 * time.Second

func newScript(t testing.TB, limit policy.Limit, maxKeys int, start clock.Time) *script {
	c := clock.NewManual(start)
	set := policy.Set{{Endpoint: "order.new", Limits: []policy.Limit{limit}}}
	g, err := tickgate.New(tickgate.Config{Policies: set, MaxKeys: maxKeys, Clock: c})
	require.NoError(t, err)
	return &script{t: t, gate: g, clock: c, limit: limit, keys: map[string]*history{}}
}

func (s *script) key(name string) *history {
	h := s.keys[name]
	if h == nil {
		h = &history{newest: math.MinInt64, charged: math.MinInt64}
		s.keys[name] = h
	}
	return h
}

// take asks for n tokens, late by the given time, through a handle if the key
// has one.
func (s *script) take(name string, n int64, late time.Duration) bool {
	h := s.key(name)
	now := s.clock.Now().Add(-min(late, lateBy))
	misses := s.gate.Stats().Misses
	var d tickgate.Decision
	if h.handle != (tickgate.Handle{}) {
		d = h.handle.TakeAt(now, n)
	} else {
		d = s.gate.TakeAt(now, name, "order.new", n)
	}
	h.newest = max(h.newest, now)
	if s.gate.Stats().Misses > misses {
		// It was evicted, and comes in anew no earlier than at the time it went.
		h.newest = s.clock.Now()
	}
	if d.Allowed && n > 0 {
		if h.handle != (tickgate.Handle{}) {
			h.open = append(h.open, len(h.events))
		}
		h.charged = max(h.charged, now)
		h.events = append(h.events, admission{from: h.charged, to: h.newest, n: n, decision: d})
	}
	return d.Allowed
}

func (s *script) pin(name string) {
	h := s.key(name)
	if h.handle == (tickgate.Handle{}) {
		p, err := s.gate.Handle(name, "order.new")
		if err != nil {
			require.ErrorIs(s.t, err, tickgate.ErrFull)
			return
		}
		h.newest = max(h.newest, s.clock.Now())
		h.handle = p
	}
}

func (s *script) unpin(name string) {
	h := s.key(name)
	h.handle.Release()
	h.handle, h.open = tickgate.Handle{}, nil
}

// refund gives back the pick-th open decision of a key.
func (s *script) refund(name string, pick int) {
	h := s.key(name)
	if len(h.open) == 0 {
		return
	}
	i := pick % len(h.open)
	e := &h.events[h.open[i]]
	h.handle.Refund(e.decision)
	e.gone = true
	h.open = append(h.open[:i], h.open[i+1:]...)
}

// check holds every span of every key against C + r·τ, in exact numbers.
func (s *script) check() {
	tokens, per := big.NewInt(s.limit.Tokens), big.NewInt(int64(s.limit.Per))
	for name, h := range s.keys {
		for i := range h.events {
			sum := int64(0)
			for j := i; j < len(h.events); j++ {
				if e := h.events[j]; !e.gone {
					sum += e.n
				}
				// sum ≤ C + span·tokens/per, times per.
				span := big.NewInt(int64(h.events[j].to-h.events[i].from) + grain)
				bound := span.Mul(span, tokens)
				bound.Add(bound, new(big.Int).Mul(big.NewInt(s.limit.Capacity()), per))
				if new(big.Int).Mul(big.NewInt(sum), per).Cmp(bound) > 0 {
					s.t.Fatalf("%s, key %s: %d tokens from %d to %d", s.limit, name, sum, h.events[i].from, h.events[j].to)
				}
			}
		}
	}
}
