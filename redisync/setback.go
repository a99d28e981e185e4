package redisync

import (
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// at notes the time. If the clock was set back, which only a clock of somebody's own can
// be, all times go back with it, so that nothing waits for the clock to catch up.
func (e *engine) at(now clock.Time) {
	if d := e.now.Sub(now); d > 0 && e.now != 0 {
		e.setBack(d)
	}
	e.now = now
}

func (e *engine) setBack(d time.Duration) {
	e.Log.Warn("redisync: the gate's clock was set back", "by", d)
	back := func(times ...*clock.Time) {
		for _, t := range times {
			if *t == 0 || *t == never {
				continue
			}
			if *t = t.Add(-d); *t == 0 { // which would say that it is not set
				*t = -1
			}
		}
	}
	back(&e.look, &e.next, &e.nextBeat, &e.nextMark, &e.nextLook, &e.kicked, &e.heardAt, &e.throttle.at)
	for i := range e.lanes {
		l := &e.lanes[i]
		back(&l.since, &l.dead, &l.asked, &l.next)
	}
	for _, b := range e.batches {
		back(&b.sent)
	}
	for _, t := range e.terms {
		back(&t.checked)
	}
	for i := range e.vague {
		back(&e.vague[i].until)
	}
	for _, r := range e.records {
		back(&r.since, &r.retry, &r.vague, &r.full)
		if r.share != nil {
			back(&r.share.at)
		}
		if l := r.lease; l != nil {
			back(&l.until, &l.at, &l.used)
			if l.until != 0 { // the gate would spend it for so much longer
				e.ledger.Settle(r.id, tickgate.Settlement{Until: l.until})
			}
		}
	}
}
