package bucket

import (
	"math/rand/v2"
	"testing"

	"github.com/tickgate/tickgate/clock"
)

const ms = second / 1000

var (
	tapeSpans = []int64{3 * ms, 10 * ms, 999_999_937, second, 10 * second, minute, hour, day}

	// Most are so few that nothing is rounded.
	tapeTokens = []int64{1, 2, 3, 7, 8, 10, 15, 16, 17, 100, 127, 1000, 1024}
)

// windowed reads a limit of a kind.
func (t *tape) windowed(kind Kind) windowed {
	w := windowed{kind: kind, span: 1 + int64(t.uint(1))}
	if k := t.below(16); int(k) < len(tapeSpans) {
		w.span = tapeSpans[k]
	} else if kind == Aligned {
		// A window must be longer than what a wall clock is slewed by.
		w.span += 3 * ms
	}
	w.tokens = tapeTokens[t.below(uint64(len(tapeTokens)))]
	switch most := (w.span - 1) / 2; t.below(4) {
	case 0:
		w.skew = most
	case 1:
		w.skew = most / 100
	case 2:
		w.skew = int64(t.uint(7)) % (most + 1)
	}
	if t.below(3) == 0 && w.tokens > 1 {
		w.reserve = int64(t.uint(2)) % w.tokens
	}
	return w
}

// moment reads the time of the next call. The key's own times stay within 2^62 of each
// other: a ring tells no more than that apart.
func (p *windowPair) moment(t *tape) clock.Time {
	now := t.moment(&p.w, p.now, p.retry)
	if p.s.seen > farthest/8*3-(now-p.now) {
		return p.now
	}
	return now
}

// moment reads a time, of a caller of w that was at now and was told to retry after
// retry nanoseconds: equal, later, stale, set back, years later, or anywhere.
func (t *tape) moment(w *windowed, now clock.Time, retry int64) clock.Time {
	var d int64
	switch t.below(20) {
	case 0, 1, 2, 3:
		return now
	case 4, 5, 6:
		d = int64(t.uint(1)) * max(1, w.span/64)
	case 7:
		d = retry - 1
	case 8, 9:
		d = retry
	case 10:
		d = w.span - 1 + int64(t.below(3))
	case 11:
		d = w.skew - 1 + int64(t.below(3))
	case 12:
		d = w.span + w.skew - 1 + int64(t.below(3))
	case 13:
		d = -int64(t.uint(2))
	case 14: // late, by less than what is a clock set back
		d = -int64(t.uint(4) * 2)
	case 15:
		d = -int64(t.uint(2)) * second
	case 16:
		d = int64(t.uint(4)) * 1000
	case 17:
		d = int64(t.uint(2)) * hour
	case 18:
		d = maxIdle + int64(int8(t.uint(1)))
	case 19:
		return clock.Time(int64(t.uint(8)) >> 3)
	}
	const most = farthest >> 2
	return min(max(now+clock.Time(min(max(d, -most), most)), -most), most)
}

// weight reads a number of tokens to take.
func (t *tape) weight(l *Limit, urgent bool) int64 {
	c := l.Most(urgent)
	switch t.below(10) {
	case 0:
		return c
	case 1:
		return c + 1
	case 2:
		return int64(t.uint(8)>>1) % (c + 1)
	case 3:
		return int64(t.uint(1))
	case 4:
		return max(1, c/2)
	}
	return 1
}

// runWindow plays a tape on a window of a kind and on its model.
func runWindow(t testing.TB, kind Kind, tape *tape) {
	w := tape.windowed(kind)
	start := clock.Time(int64(tape.uint(8)) >> 3)
	if tape.below(2) == 0 {
		start >>= 20
	}
	p := newWindowPair(t, w, tape.uint(2), start, int64(tape.uint(8))>>3)
	defer p.explain()
	p.refunds = tape.below(2) == 0
	for !tape.done() {
		p.step(tape)
	}
}

// step plays the next of a tape.
func (p *windowPair) step(tape *tape) {
	op := tape.below(16)
	now := p.moment(tape)
	switch op {
	default:
		p.take(now, tape.weight(p.s.limit(), false), false)
	case 10:
		p.take(now, 0, false)
	case 11:
		p.take(now, tape.weight(p.s.limit(), true), true)
	case 12:
		p.charge(now, tape.anyCharge(p.s.limit()))
	case 13, 14:
		if p.refunds {
			p.refund(now, int(tape.below(4)))
		} else {
			p.credit(now, tape.anyCharge(p.s.limit()))
		}
	}
	p.compare()
}

// anyCharge reads a number of tokens to charge or credit.
func (t *tape) anyCharge(l *Limit) int64 {
	switch t.below(8) {
	case 0:
		return int64(t.uint(8) >> 1)
	case 1:
		return 2 * l.Most(true)
	}
	return t.weight(l, true)
}

// Random histories, with stale, equal and huge times, debt, credit and refunds: the
// same decisions as the model's, to the nanosecond.
func TestWindowsAgreeWithModel(t *testing.T) {
	for _, kind := range windowKinds {
		t.Run(kindNames[kind], func(t *testing.T) {
			rng := rand.New(rand.NewPCG(31, uint64(kind)))
			histories := 3000
			if testing.Short() {
				histories = 500
			}
			for range histories {
				b := make([]byte, rng.IntN(600))
				for i := range b {
					b[i] = byte(rng.Uint32())
				}
				runWindow(t, kind, &tape{b})
			}
		})
	}
}

var kindNames = map[Kind]string{TokenBucket: "bucket", Aligned: "aligned", FromFirst: "from-first", Rolling: "rolling"}
