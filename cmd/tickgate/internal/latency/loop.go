package latency

import (
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate/clock"
)

// patience is how long after the end of its timetable a slice may go on before
// it is given up.
const patience = 2 * time.Second

// call makes one call at a reading of the clock and returns how many of its
// decisions were allowed.
type call func(now clock.Time) int

// idle is the call of the empty loop.
func idle(clock.Time) int { return 0 }

// job is what a slice is to run.
type job struct {
	call call
	next func() // chooses the key of the call to come, outside the measured time; may be nil
	want int    // allowed decisions that every call must have
	most int    // calls that are ready; 0: any number
}

// tally is what a slice did.
type tally struct {
	calls   int64
	wrong   int64 // calls with another outcome than wanted
	late    int64 // calls that were due before the last one was done
	waiting int64 // calls that were due and not made: the slice was given up
}

// loop runs slices. Both loops, that of the path and the empty one, are this
// code, so that what it costs is the same in both.
type loop struct {
	clock clock.Clock
	rate  int64         // calls due in a second; 0: closed loop
	drain atomic.Uint64 // written before every call, read by nobody
}

// run runs one slice. The histogram gets raw times, the overhead included.
func (l *loop) run(j job, length time.Duration, h *histogram) tally {
	if l.rate > 0 {
		return l.paced(j, length, h)
	}
	return l.closed(j, length, h)
}

// closed makes one call after the other until length has passed.
func (l *loop) closed(j job, length time.Duration, h *histogram) (t tally) {
	end := l.clock.Now().Add(length)
	for j.most == 0 || t.calls < int64(j.most) {
		if j.next != nil {
			j.next()
		}
		l.drain.Add(1)
		from := l.clock.Now()
		allowed := j.call(from)
		to := l.clock.Now()
		h.record(int64(to - from))
		t.calls++
		if allowed != j.want {
			t.wrong++
		}
		if to >= end {
			break
		}
	}
	return t
}

// paced makes the calls of a timetable of the given length, and goes on with it
// until no call is waiting. Waiting for the time of a call is reading the clock:
// a sleep would measure the operating system.
func (l *loop) paced(j job, length time.Duration, h *histogram) (t tally) {
	start := l.clock.Now()
	end := start.Add(length)
	last := end.Add(patience)
	due := func(i int64) clock.Time { return start + clock.Time(i*int64(time.Second)/l.rate) }
	for i := int64(0); ; i++ {
		if j.next != nil {
			j.next()
		}
		l.drain.Add(1)
		at := due(i)
		now := l.clock.Now()
		if at >= end && now < at {
			for now < end {
				now = l.clock.Now() // the timetable is of the whole length
			}
			return t
		}
		if now >= last || j.most > 0 && i == int64(j.most) {
			for ; at <= now; at = due(i) {
				h.record(int64(now - at))
				t.waiting++
				i++
			}
			return t
		}
		if now > at {
			t.late++
		}
		for now < at {
			now = l.clock.Now()
		}
		allowed := j.call(now)
		h.record(int64(l.clock.Now() - at))
		t.calls++
		if allowed != j.want {
			t.wrong++
		}
	}
}
