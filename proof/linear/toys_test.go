package linear

import (
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// A bug that the checker does not find would make every other test here worthless.
// Each script is one interleaving. With its bug it must be refused, without it
// the same interleaving must pass.
func TestBrokenToysAreCaught(t *testing.T) {
	const tick = 100_000
	const token = 4 * tick // its refill
	for _, c := range []struct {
		bug    bug
		burst  int64
		script func(t *toy)
	}{
		{publishEarly, 1, func(t *toy) {
			t.take(0, key, 1)
			t.clock = token
			t.evict(key)
			t.hooks["halfway"] = func() { t.take(token, key, 1) } // finds the old key in the stranger's slot
			t.take(token, "stranger", 1)
			t.take(token, key, 1)
		}},
		{noRecheck, 1, func(t *toy) {
			t.take(0, key, 1)
			t.clock = token
			t.hooks["loaded"] = func() {
				t.evict(key)
				t.take(token, "stranger", 0) // whose word is the number that the key's was
			}
			t.take(token, key, 1) // charges the stranger
			t.take(token, key, 1)
		}},
		{killAtOnce, 1, func(t *toy) {
			t.take(0, key, 1)
			t.clock = token
			t.hooks["looked"] = func() { t.take(token, key, 1) }
			t.evict(key)
			t.take(token, key, 1)
		}},
		{noFloor, 1, func(t *toy) {
			t.take(0, key, 1)
			t.clock = token
			t.evict(key)
			t.take(0, key, 1) // read the clock before
			t.take(token, key, 1)
		}},
		{insertTwice, 1, func(t *toy) {
			t.hooks["missed"] = func() { t.take(0, key, 1) }
			t.take(0, key, 1)
		}},
		{refundAll, 1, func(t *toy) {
			a := t.take(0, key, 1)
			t.clock = token
			t.take(token, key, 1)
			t.refund(a)
			t.take(token, key, 1)
		}},
		{refundNoR, 3, func(t *toy) {
			a := t.take(0, key, 1)
			b := t.take(0, key, 1)
			t.refund(a)
			t.clock = token
			t.take(token, key, 1)
			t.refund(b)
			t.take(token, key, 3)
		}},
		{refundStale, 1, func(t *toy) {
			a := t.take(0, key, 1)
			t.hooks["bound"] = func() {
				t.clock = token
				t.take(token, key, 1)
			}
			t.refund(a)
			t.take(token, key, 1)
		}},
	} {
		t.Run(string(c.bug), func(t *testing.T) {
			m := &spec{limit: limit{1, token, c.burst}, tick: tick, grain: grain}
			for _, b := range []bug{none, c.bug} {
				toy := &toy{limit: m.limit, bug: b, hooks: map[string]func(){}, kept: map[*op]receipt{}}
				c.script(toy)
				require.Empty(t, toy.hooks, "a step of the script was not reached")
				ops := finish(toy.ops)
				want, admitted := porcupine.Ok, porcupine.Ok
				if b != none {
					want, admitted = porcupine.Illegal, porcupine.Illegal
				}
				require.Equal(t, want, m.check(ops), "bug %q\n%s", b, text(ops, 0))
				require.Equal(t, admitted, admits([]limit{m.limit}, 0, ops), "bug %q\n%s", b, text(ops, 0))
			}
		})
	}
}
