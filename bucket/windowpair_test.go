package bucket

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/internal/refmodel"
	"github.com/tickgate/tickgate/policy"
)

// windowPair is a key with one limit that counts in windows and the exact model of
// it, side by side.
type windowPair struct {
	testing.TB
	w     windowed
	s     *anySlot
	m     *refmodel.Bucket
	wall  *clock.ManualWall
	now   clock.Time
	retry int64 // what the last denied take was told

	// loose: ours may have fewer tokens than the model. Else the two must agree
	// exactly.
	loose bool

	refunds bool // what is given back are takes; else tokens that nobody took
	takes   []receipt
	ops     []string
	log     []receipt // everything a ring was told, for what finds no room in it
}

// receipt is a take.
type receipt struct {
	at clock.Time
	n  int64
	r  refmodel.Receipt
}

var modelKinds = map[Kind]policy.Window{
	TokenBucket: policy.TokenBucket, Aligned: policy.Aligned, FromFirst: policy.FromFirst, Rolling: policy.Rolling,
}

// model is w as the model has it. A window loses what does not fit into its count.
func (w windowed) model(l *Limit) refmodel.Limit {
	m := refmodel.Limit{
		Tokens: w.tokens, Per: w.span, Capacity: w.tokens, Window: modelKinds[w.kind],
		Reserve: w.reserve, Skew: time.Duration(w.skew),
	}
	switch w.kind {
	case TokenBucket:
		m.Tokens, m.Per = l.Rate()
		m.Most = big.NewRat(maxAhead, l.cost)
	case Aligned, FromFirst:
		m.Most = big.NewRat(1<<l.window.count-1, 1)
	}
	if w.wall != nil {
		m.Wall = w.wall.UnixNano
	}
	return m
}

func newWindowPair(t testing.TB, w windowed, owner uint64, start clock.Time, offset int64) *windowPair {
	p := &windowPair{TB: t, now: start, wall: clock.NewManualWall(time.Duration(offset))}
	w.wall = p.wall
	p.w = w
	l := w.limit(t)
	p.s = newAnySlot(l, owner, start)
	p.m = refmodel.NewBucket(w.model(&l)).SetBack()
	p.m.Peek(start)
	p.loose = !p.exact()
	return p
}

// note keeps what is done, to be printed where the two differ.
func (p *windowPair) note(format string, args ...any) {
	p.ops = append(p.ops, fmt.Sprintf(format, args...))
}

// explain prints what was done if that failed.
func (p *windowPair) explain() {
	if p.Failed() {
		p.Logf("%+v\n%s", p.w, strings.Join(p.ops, "\n"))
	}
}

// exact reports whether the limit is kept to the nanosecond and the token.
func (p *windowPair) exact() bool {
	l := p.s.limit()
	return l.window.quant == 0 && l.roll.group == 0
}

// to moves on to a time, by which both serve the next call.
func (p *windowPair) to(now clock.Time) (late int64) {
	p.now = now
	_, late = p.s.touch(now)
	d := p.m.Peek(now)
	require.Equal(p, d.At, p.s.seen)
	if p.loose && p.exact() && p.s.spent() == 0 && p.m.Used(now).Sign() == 0 && p.s.busy() == 0 {
		p.loose = false // nothing is left of the difference
	}
	return late
}

func (p *windowPair) take(now clock.Time, n int64, urgent bool) {
	late := p.to(now)
	l := p.s.limit()
	p.note("take of %d at %d, served at %d, urgent %v, loose %v: spent %d", n, now, p.s.seen, urgent, p.loose, p.s.spent())
	take := p.m.TakeAt
	if urgent {
		take = p.m.TakeUrgentAt
	}
	if n > l.Most(urgent) {
		d := take(now, n)
		require.True(p, d.TooCostly && d.RetryAfter == refmodel.Never)
		return
	}
	wait, left, busy := p.s.wait(n, urgent), p.s.left(urgent), p.s.busy()
	ok := p.s.take(n, urgent)
	require.Equal(p, ok, wait == 0, "take of %d: %v, to wait %d", n, ok, wait)
	p.retry = 0
	if !ok {
		p.retry = wait + late
		if p.loose || !p.room(n) {
			return
		}
	}
	d := take(now, n)
	if n == 0 && p.w.kind == FromFirst && !ok && left == 0 {
		// A look passes in the model also while the window is shut.
		require.Equal(p, d.Remaining, left)
		return
	}
	require.Equal(p, d.Allowed, ok, "take of %d: %+v, to wait %d", n, d, wait)
	if ok && n > 0 {
		r := receipt{p.s.seen, n, d.Receipt}
		p.takes, p.log = append(p.takes, r), append(p.log, r)
		left, busy = p.s.left(urgent), p.s.busy()
	}
	if p.loose {
		require.LessOrEqual(p, left, d.Remaining)
		return
	}
	if p.room(d.Remaining) {
		require.Equal(p, d.Remaining, left)
	} else {
		require.LessOrEqual(p, left, d.Remaining)
	}
	require.Equal(p, d.RetryAfter, time.Duration(p.retry))
	if busy > 0 {
		busy += late
	}
	if p.w.kind == FromFirst && p.s.spent() == 0 {
		return // it may be shut still, with nothing counted
	}
	if p.w.kind != Rolling || len(p.log) == len(p.takes) { // what was given back keeps its ring busy
		require.Equal(p, d.ResetAfter, time.Duration(busy))
	} else {
		require.GreaterOrEqual(p, time.Duration(busy), d.ResetAfter)
	}
}

// room reports whether n more tokens find room in a ring beside those that were
// given back in its span.
func (p *windowPair) room(n int64) bool {
	if p.w.kind != Rolling {
		return true
	}
	in := max(n, 1)
	for _, r := range p.log {
		if r.at+clock.Time(p.w.span+p.w.skew) > p.s.seen {
			in += r.n
		}
	}
	return in <= int64(p.s.limit().roll.mask)+1
}

func (p *windowPair) charge(now clock.Time, n int64) {
	p.to(now)
	if p.w.kind == Rolling {
		// More than the capacity says no more than the capacity.
		n = min(n, p.w.tokens)
		// A void in the oldest entry of a full ring is forgotten.
		p.loose = p.loose || !p.room(n+1)
		p.log = append(p.log, receipt{at: p.s.seen, n: n})
	}
	if n == 0 || p.lastQuantum() {
		return
	}
	if p.w.kind == Aligned && p.w.skew > 0 && n > 1<<p.s.limit().window.count-1-p.s.spent() {
		p.takes = nil // see TestLateIsCounted
	}
	p.note("charge of %d at %d", n, now)
	p.s.charge(n)
	p.m.Charge(now, n)
}

func (p *windowPair) credit(now clock.Time, n int64) {
	p.to(now)
	if p.w.kind == Rolling && p.loose {
		return // a debt that the ring cannot hold is lost in part
	}
	if p.w.kind == Aligned && p.w.skew > 0 {
		// What came late keeps counting in the next window.
		p.loose = true
	}
	p.log = append(p.log, receipt{at: p.s.seen})
	p.note("credit of %d at %d", n, now)
	p.s.credit(n)
	p.crowds()
	p.m.Credit(now, n)
}

// refund gives back the take that is k-th from last, in full.
func (p *windowPair) refund(now clock.Time, k int) {
	p.to(now)
	if k >= len(p.takes) {
		return
	}
	k = len(p.takes) - 1 - k
	r := p.takes[k]
	if p.w.kind == Rolling && p.loose {
		return
	}
	p.takes = append(p.takes[:k], p.takes[k+1:]...)
	p.log = append(p.log, receipt{at: p.s.seen})
	p.note("refund at %d of %d from %d", now, r.n, r.at)
	p.s.giveBack(r.at, r.n)
	p.crowds()
	p.m.Refund(now, r.r)
}

// crowds notes that what was given back may have crowded a ring so that tokens count
// for longer than the model's.
func (p *windowPair) crowds() {
	p.loose = p.loose || !p.room(p.w.tokens+1)
}

// lastQuantum reports whether the window in force may be over: what is charged then
// is lost with it.
func (p *windowPair) lastQuantum() bool {
	l, _, cur, c := p.s.at()
	if l.window.quant == 0 {
		return false
	}
	end := l.window.time(l.window.read(cur, c.Origin, p.s.seen).end)
	return p.s.seen < end && end-p.s.seen < 1<<l.window.quant
}

// compare asserts that both count the same, or that ours counts more.
func (p *windowPair) compare() {
	exact := p.m.Used(p.s.seen)
	require.True(p, exact.IsInt())
	if p.loose {
		for _, urgent := range []bool{false, true} {
			most := p.s.limit().Most(urgent) - exact.Num().Int64()
			require.LessOrEqual(p, p.s.left(urgent), max(0, most))
		}
		return
	}
	require.Equal(p, exact.Num().Int64(), p.s.spent())
}
