package redisync

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/tickgate/tickgate/clock"
)

// chunk is the most calls in a batch. A larger one would hold up the strict calls that
// share the server: 256 calls take Redis 4 ms, 16 a quarter of one.
const chunk = 16

// mostBatches is the most batches in flight: 1,024 calls, and as many goroutines of
// a few KB at worst.
const mostBatches = 64

// overdue is how much later than its deadline a batch may come back before it is taken
// for lost.
const overdue = 100 * time.Millisecond

// never is the time of a batch that was not sent.
const never clock.Time = math.MaxInt64

// errand says what the calls of a batch are for.
type errand uint8

const (
	forRecords errand = iota
	forHeartbeat
	forMarks
	forPulse
)

// batch is some calls that are sent together, with the goroutine that waits for them.
// It is the loop's, but between send and its return over results.
type batch struct {
	calls   []Call
	replies []Reply
	flights []flight
	lane    int
	errand  errand
	probe   bool
	busy    bool
	lost    bool // did not come back in time
	sent    clock.Time
	timeout time.Duration
	took    clock.Time // when the replies were there

	run chan struct{} // to the goroutine
}

// flight is a call of a batch. The record may have been given up when the call comes
// back; its number tells.
type flight struct {
	r      *record
	number uint64
	total  int64 // on credit: as sent
	gone   int64 // on a lease: as sent, and what was wanted
	want   int64
	leave  bool
}

// take returns a batch that is not in use; nil: all are in flight.
func (e *engine) take(errand errand, lane int) *batch {
	for _, b := range e.batches {
		if !b.busy {
			return b.clear(errand, lane)
		}
	}
	if len(e.batches) >= mostBatches {
		return nil
	}
	b := &batch{
		calls: make([]Call, 0, chunk), replies: make([]Reply, chunk), flights: make([]flight, 0, chunk),
		run: make(chan struct{}, 1),
	}
	e.batches = append(e.batches, b)
	return b.clear(errand, lane)
}

func (b *batch) clear(errand errand, lane int) *batch {
	clear(b.calls)
	clear(b.flights)
	b.calls, b.flights = b.calls[:0], b.flights[:0]
	b.errand, b.lane, b.busy, b.lost, b.probe, b.sent = errand, lane, true, false, false, never
	return b
}

// launch sends a batch.
func (e *engine) launch(b *batch, now clock.Time) {
	l := &e.lanes[b.lane]
	l.asked = now
	b.sent, b.timeout = now, l.timeout(e.rtt.quantile(.99), e.MaxAge/2)
	l.out++
	l.probing = l.probing || b.probe
	e.stats.Batches++
	e.stats.Syncs += uint64(len(b.flights))
	for i := range b.flights {
		f := &b.flights[i]
		e.flights++
		f.number, f.r.flight = e.flights, e.flights
	}
	e.inFlight += len(b.flights)
	e.carry(b)
}

// carrier starts the batch's goroutine at its first use, and wakes it.
func (e *engine) carrier(ctx context.Context) func(*batch) {
	started := map[*batch]bool{} // the loop's
	return func(b *batch) {
		if !started[b] {
			started[b] = true
			e.carriers.Add(1)
			go func() {
				defer e.carriers.Done()
				for range b.run {
					b.wait(ctx, e)
					e.results <- b
				}
			}()
		}
		b.run <- struct{}{}
	}
}

// dismiss ends the goroutines, after the loop.
func (e *engine) dismiss() {
	for _, b := range e.batches {
		close(b.run)
	}
	e.carriers.Wait()
}

// wait makes the calls.
func (b *batch) wait(ctx context.Context, e *engine) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	replies := b.replies[:len(b.calls)]
	clear(replies)
	e.transport.Sync(ctx, b.calls, replies)
	b.took = e.Clock.Now()
}

// finish deals with a batch that came back.
func (e *engine) finish(b *batch, now clock.Time) {
	e.at(now)
	if b.lost { // its records were told long ago
		b.busy = false
		return
	}
	e.lanes[b.lane].out--
	alive, there, done := false, false, false
	for i := range b.calls {
		err := b.replies[i].Err
		alive = alive || alives(err)
		there = there || alives(err) || errors.Is(err, ErrBusy) || errors.Is(err, ErrReadOnly)
		done = done || err == nil
	}
	e.note(b, alive, done, b.replies[0].Err, now)
	e.lanes[b.lane].sign(there, b.sent)
	switch b.errand {
	case forPulse:
	case forHeartbeat:
		e.heard(b, now)
	case forMarks:
		e.marked(b, done, now)
	default:
		if done {
			e.rtt.add(b.took.Sub(b.sent))
		}
		for i := range b.flights {
			e.land(&b.flights[i], b.replies[i], b, now)
		}
	}
	b.busy = false
}

// alives reports whether an error is the word of a server that works, about a key.
func alives(err error) bool {
	return err == nil || errors.Is(err, ErrMoved) || errors.Is(err, ErrRefused)
}

// note keeps account of the health of a lane, and of Redis as a whole.
func (e *engine) note(b *batch, alive, done bool, err error, now clock.Time) {
	l := &e.lanes[b.lane]
	if done {
		e.heardAt = now
	}
	if alive {
		if l.answered(mostBatches / len(e.lanes)) {
			e.Log.Info("redisync: Redis answers again", "lane", b.lane)
		}
		return
	}
	if l.failed(b.sent, now, e.rand.Float64()) {
		e.Log.Warn("redisync: Redis does not answer", "lane", b.lane, "error", err)
	}
}

// giveUp takes batches that are long past their deadline for lost: their calls are
// unknown, and whatever comes back is not looked at.
func (e *engine) giveUp(now clock.Time) {
	for _, b := range e.batches {
		if !b.busy || b.lost || b.sent == never || now.Sub(b.sent) < b.timeout+overdue {
			continue
		}
		b.lost = true
		e.lanes[b.lane].out--
		e.note(b, false, false, ErrUnknown, now)
		e.lanes[b.lane].sign(false, b.sent)
		switch b.errand {
		case forHeartbeat:
			e.beating = false
		case forMarks:
			e.marked(b, false, now)
		}
		for i := range b.flights {
			e.land(&b.flights[i], Reply{Err: ErrUnknown}, b, now)
		}
	}
}
