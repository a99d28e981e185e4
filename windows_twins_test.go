package tickgate_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/internal/refmodel"
	"github.com/tickgate/tickgate/policy"
)

// twins is a gate under limits of every kind, and the exact model of each of its
// keys, called alike.
type twins struct {
	t      testing.TB
	r      *rand.Rand
	gate   *tickgate.Gate
	clock  *clock.Manual
	wall   *clock.ManualWall
	limits []policy.Limit
	keys   map[string]*twin

	credits bool // gives back by Credit rather than by Refund
	late    bool // some calls come late
	steps   bool // the wall clock is stepped
	handles int
	trace   []string
}

// twin is one key.
type twin struct {
	handle tickgate.Handle // zero: called by name
	model  *refmodel.Multi
	open   []given // that may be refunded
	wrote  []wrote // what went into rings
	voided bool
}

// given is an admission as both gave it.
type given struct {
	d    tickgate.Decision
	want refmodel.Decision
	at   clock.Time
}

type wrote struct {
	at clock.Time
	n  int64
}

func newTwins(t testing.TB, r *rand.Rand, maxKeys, limits int) *twins {
	w := &twins{t: t, r: r, wall: clock.NewManualWall(time.Duration(r.Int64N(1e12))), keys: map[string]*twin{}, credits: r.IntN(2) == 0}
	for i := range limits {
		w.limits = append(w.limits, w.limit(i))
	}
	w.gate, w.clock = gateWith(t, tickgate.Config{MaxKeys: maxKeys, Wall: w.wall}, w.set())
	return w
}

func (w *twins) set() policy.Set {
	return policy.Set{{Endpoint: endpoint, Limits: append([]policy.Limit(nil), w.limits...)}}
}

// limit makes one up. All windows have 9 to 15 tokens, so that a change of their
// capacity does not change what their words can count, and rings hold 32.
func (w *twins) limit(i int) policy.Limit {
	r := w.r
	l := policy.Limit{
		Name: string(rune('a' + i)), Window: policy.Window(r.IntN(4)), Tokens: 9 + r.Int64N(7),
		Per: []time.Duration{time.Second, 700 * time.Millisecond, 10 * time.Second, time.Minute}[r.IntN(4)],
	}
	if l.Window == policy.TokenBucket {
		l.Burst = 8 + r.Int64N(20)
	} else if r.IntN(2) == 0 {
		l.Skew = time.Duration(1 + r.Int64N(int64(l.Per)/2-1))
	}
	if r.IntN(3) == 0 {
		l.Reserve = r.Int64N(6)
	}
	return l
}

func (w *twins) modelLimits() (out []refmodel.Limit) {
	for _, l := range modelOf(w.set())[endpoint] {
		l.Wall = func(at clock.Time) int64 { return w.wall.UnixNano(at) }
		out = append(out, l)
	}
	return out
}

func (w *twins) key(name string) *twin {
	k := w.keys[name]
	if k == nil {
		k = &twin{model: refmodel.NewMulti(w.modelLimits()...)}
		k.model.SetBack = true
		w.keys[name] = k
	}
	return k
}

func (w *twins) log(format string, a ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%d ", w.clock.Now())+fmt.Sprintf(format, a...))
}

// same asserts that both decided alike.
func (w *twins) same(k *twin, look bool, want refmodel.Decision, got tickgate.Decision) {
	w.t.Helper()
	if look && !got.Allowed && w.shut(got.Limit) {
		return // a gate shows a window that is shut as one, to a look as well
	}
	if k.voided && !w.room(k, 15) && got.Allowed == want.Allowed {
		return // what is left is what the ring has room for
	}
	if k.voided && w.windowOf(got.Limit) == policy.Rolling && got.ResetAfter > want.ResetAfter {
		want.ResetAfter = got.ResetAfter // reckoned from the last take, were it given back or not
	}
	reason := tickgate.Limited
	switch {
	case want.Allowed:
		reason = tickgate.OK
	case want.TooCostly:
		reason = tickgate.TooCostly
	}
	if w.steps && w.windowOf(got.Limit) == policy.Aligned && got.ResetAfter < want.ResetAfter {
		want.ResetAfter = got.ResetAfter // by the wall clock of when it was counted
	}
	if w.steps && !got.Allowed && got.RetryAfter == want.RetryAfter {
		// Two that wait for a window and what it carries on may each be named.
		want.Limit, want.Remaining, want.ResetAfter = got.Limit, got.Remaining, got.ResetAfter
	}
	if got.Reason == reason && got.Allowed == want.Allowed && got.Remaining == want.Remaining &&
		got.RetryAfter == want.RetryAfter && got.ResetAfter == want.ResetAfter && got.Limit == want.Limit {
		return
	}
	for _, l := range w.trace[max(0, len(w.trace)-20):] {
		w.t.Log(l)
	}
	require.Failf(w.t, "not as the model decides", "%v\nwant %+v\ngot  %+v", w.set(), want, got)
}

// room reports whether n more tokens can be written into a ring, of at least 32, and
// leave room for 15, the most that a limit here has. With less, a gate lets tokens that
// count change places with what was given back, so that they count for longer.
func (w *twins) room(k *twin, n int64) bool {
	span := time.Duration(0)
	sum, most := n, int64(1<<62)
	for _, l := range w.limits {
		span = max(span, l.Per+l.Skew)
		if l.Window == policy.Rolling {
			most = 32 - 15
		}
	}
	for _, e := range k.wrote {
		if w.clock.Now().Sub(e.at) < span {
			sum += e.n
		}
	}
	return sum <= most
}

func (w *twins) write(k *twin, n int64) { k.wrote = append(k.wrote, wrote{w.clock.Now(), n}) }

// take asks both.
func (w *twins) take(name string, now clock.Time, c refmodel.Call, unasked bool) (d tickgate.Decision, ok bool) {
	k := w.keys[name]
	if k == nil {
		if c.N < 1 || c.N > w.least() {
			return d, false // it brings no key in
		}
		k = w.key(name)
	}
	most := c.N
	for _, n := range c.Costs {
		most = max(most, n)
	}
	if k.voided && most > 0 && !w.room(k, most) {
		return d, false
	}
	handled := k.handle != (tickgate.Handle{})
	switch {
	case !handled:
		c.Costs, c.Urgent = nil, false
		d = w.gate.TakeAt(now, name, endpoint, c.N)
	case c.Costs != nil:
		c.Urgent = false
		var costs []tickgate.Cost
		for limit, n := range c.Costs {
			costs = append(costs, tickgate.Cost{Limit: limit, N: n})
		}
		d = k.handle.TakeCostsAt(now, c.N, costs...)
	case c.Urgent:
		d = k.handle.TakeUrgentAt(now, c.N)
	case unasked && c.N > 0:
		d.Allowed = k.handle.AllowAt(now, c.N)
	default:
		d, unasked = k.handle.TakeAt(now, c.N), false
	}
	w.log("take %s at %d %+v handled %v: %+v", name, now, c, handled, show(d))
	want := k.model.Take(now, c)
	if unasked && handled && c.Costs == nil && !c.Urgent && c.N > 0 {
		require.Equal(w.t, want.Allowed, d.Allowed)
	} else {
		w.same(k, most == 0, want, d)
		if handled && d.Allowed && most > 0 {
			k.open = append(k.open, given{d, want, w.clock.Now()})
		}
	}
	if want.Allowed && most > 0 {
		w.write(k, most)
	}
	return d, true
}

// least is what every limit admits of an ordinary call.
func (w *twins) least() int64 {
	least := int64(1 << 62)
	for _, l := range w.limits {
		least = min(least, l.Capacity()-l.Reserve)
	}
	return least
}

// buckets is how many limits refill.
func (w *twins) count(kind policy.Window) (n int) {
	for _, l := range w.limits {
		if l.Window == kind {
			n++
		}
	}
	return n
}

func (w *twins) windowOf(name string) policy.Window {
	for _, l := range w.limits {
		if l.Name == name {
			return l.Window
		}
	}
	return policy.Deny
}

// zoned reports whether what was counted may count in two windows: a credit is then
// of the one in force alone, since nobody knows when it was counted.
func (w *twins) zoned() bool {
	for _, l := range w.limits {
		if l.Window == policy.Aligned && l.Skew > 0 {
			return true
		}
	}
	return false
}

func (w *twins) shut(name string) bool {
	for _, l := range w.limits {
		if l.Name == name {
			return l.Window == policy.FromFirst && l.Skew > 0
		}
	}
	return false
}

// emptied reports whether giving n tokens back could leave a window that its first
// event opened without any.
func (w *twins) emptied(k *twin, n int64) bool {
	for _, l := range w.limits {
		if l.Window == policy.FromFirst && k.model.Used(w.clock.Now(), l.Name).Cmp(big.NewRat(n, 1)) <= 0 {
			return true
		}
	}
	return false
}

// giveBack refunds an admission, or credits tokens.
func (w *twins) giveBack(name string) {
	k, now := w.keys[name], w.clock.Now()
	if k == nil || k.handle == (tickgate.Handle{}) {
		return
	}
	w.take(name, now, refmodel.Call{}, false)
	if w.credits && !w.zoned() {
		n := 1 + w.r.Int64N(4)
		if !w.emptied(k, n) {
			w.log("credit %s %d", name, n)
			k.handle.Credit(n)
			k.model.Credit(now, n)
			k.voided = true
		}
		return
	}
	if len(k.open) == 0 || w.credits {
		return
	}
	i := w.r.IntN(len(k.open))
	e := k.open[i]
	k.open = append(k.open[:i], k.open[i+1:]...)
	// What may be given back of a token bucket after some time is rounded down.
	// Of a window that is over it is not known that a step of the wall clock carries it on.
	if (w.steps || w.count(policy.TokenBucket) > 0) && (e.at != now || e.want.At != now) || w.emptied(k, 15) {
		return
	}
	w.log("refund %s what was taken at %d", name, e.at)
	k.handle.Refund(e.d)
	k.model.Refund(now, e.want.Receipt)
	k.voided = true
}

func (w *twins) charge(name string) {
	k := w.keys[name]
	n := 1 + w.r.Int64N(8) // more than a capacity is not counted of a rolling limit
	if k == nil || k.handle == (tickgate.Handle{}) || !w.room(k, n) {
		return
	}
	w.take(name, w.clock.Now(), refmodel.Call{}, false) // so that both have come to now
	for _, l := range w.limits {
		if l.Window != policy.TokenBucket && k.model.Used(w.clock.Now(), l.Name).Cmp(big.NewRat(15-n, 1)) > 0 {
			return // a window's word can count no more
		}
	}
	w.log("charge %s %d", name, n)
	k.handle.Charge(n)
	k.model.Charge(w.clock.Now(), n)
	w.write(k, n)
}

// call makes up a call.
func (w *twins) call() refmodel.Call {
	r := w.r
	c := refmodel.Call{N: r.Int64N(5), Urgent: r.IntN(4) == 0}
	if r.IntN(20) == 0 {
		c.N = r.Int64N(30)
	}
	if r.IntN(5) == 0 {
		c.Costs = map[string]int64{}
		for _, l := range w.limits {
			if r.IntN(2) == 0 {
				c.Costs[l.Name] = 1 + r.Int64N(9)
			}
		}
		c.N = 1 + r.Int64N(3)
	}
	return c
}

// advance moves the clock, by more than what a key's time may lag behind.
func (w *twins) advance(by time.Duration) { w.clock.Advance(max(by, tick)) }

func (w *twins) step(keys int) {
	r := w.r
	if r.IntN(3) == 0 {
		w.advance(time.Duration(r.Int64N(1 << (16 + r.IntN(18)))))
	}
	name := fmt.Sprint("key-", r.IntN(keys))
	switch r.IntN(16) {
	case 0:
		if k := w.keys[name]; k != nil && k.handle == (tickgate.Handle{}) && w.handles < 20 {
			k.handle = handleOf(w.t, w.gate, name)
			w.handles++
		}
	case 1:
		if k := w.keys[name]; k != nil && r.IntN(4) == 0 && k.handle != (tickgate.Handle{}) {
			k.handle.Release()
			w.handles--
			k.handle, k.open = tickgate.Handle{}, nil
		}
	case 2, 3:
		w.giveBack(name)
	case 4:
		w.charge(name)
	case 5:
		if w.late {
			w.take(name, w.clock.Now().Add(-tick*time.Duration(r.Int64N(100_000))), w.call(), false)
		}
	case 6:
		if w.late && r.IntN(10) == 0 {
			w.take(name, w.clock.Now().Add(-tick*time.Duration(r.Int64N(1_000_000))), w.call(), false)
		}
	case 7, 8: // exactly at what it is told, and a nanosecond before
		c := w.call()
		if d, ok := w.take(name, w.clock.Now(), c, false); ok && d.Reason == tickgate.Limited && d.RetryAfter > 2*tick && d.RetryAfter < time.Hour {
			w.clock.Advance(d.RetryAfter - 1 - tick*time.Duration(r.IntN(2)))
			w.take(name, w.clock.Now(), c, false)
			w.clock.Set(w.clock.Now())
			w.advance(0)
			w.take(name, w.clock.Now(), c, false)
		}
	default:
		w.take(name, w.clock.Now(), w.call(), r.IntN(3) == 0)
	}
}
