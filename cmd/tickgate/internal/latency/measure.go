package latency

import (
	"context"
	"runtime"
	"time"
)

const (
	// maxSlice and slices bound how long one loop runs before the other has its
	// turn: short enough that both see the same machine.
	maxSlice = 100 * time.Millisecond
	turns    = 10

	// due is how many calls a slice must have by a timetable, at least: it begins with one.
	due = 10

	// allocCalls are made to count allocations. Fewer than this in all are taken
	// for those of the rest of the process.
	allocCalls = 1000
	// shortage is the part of a supply of calls that a timetable may plan with.
	shortage = 2
)

// sample is what was measured of one path.
type sample struct {
	path, empty *histogram // raw, the overhead included
	allocs      int64      // of a call
	collections uint64     // that ended meanwhile
	tally
}

// meter measures paths.
type meter struct {
	loop
	duration    time.Duration
	collections func() uint64 // that ended since the process began
}

// measure runs a path and the empty loop in turns until the path has had its
// time. A slice of each goes first that is not counted: it fills the caches.
// When ctx is done it returns what there is.
func (m *meter) measure(ctx context.Context, p *path) (sample, error) {
	s := sample{path: newHistogram(), empty: newHistogram()}
	length := sliceOf(m.duration)
	if _, err := m.slice(p, &s, length/2); err != nil {
		return s, err
	}
	s.path.reset()
	s.empty.reset()
	s.tally = tally{}
	before := m.collections()
	for spent := time.Duration(0); spent < m.duration && ctx.Err() == nil && s.waiting == 0; {
		took, err := m.slice(p, &s, length)
		if err != nil {
			return s, err
		}
		spent += took
	}
	s.collections = m.collections() - before
	return s, nil
}

// sliceOf returns how long a slice of a run is.
func sliceOf(duration time.Duration) time.Duration { return min(maxSlice, duration/turns) }

// slice runs one slice of the path and one of the empty loop, and returns how
// long the former took.
func (m *meter) slice(p *path, s *sample, length time.Duration) (time.Duration, error) {
	j, err := p.job()
	if err != nil {
		return 0, err
	}
	if j.most > 0 && m.rate > 0 {
		planned := time.Duration(int64(j.most) / shortage * int64(time.Second) / m.rate)
		length = min(length, planned)
	}
	from := m.clock.Now()
	t := m.run(j, length, s.path)
	took := m.clock.Now().Sub(from)
	s.calls += t.calls
	s.wrong += t.wrong
	s.late += t.late
	s.waiting += t.waiting
	m.run(job{call: idle}, min(took, length), s.empty)
	return took, nil
}

// job prepares a slice of the path.
func (p *path) job() (job, error) {
	j := job{call: p.call, next: p.next, want: p.want}
	if p.ready == nil {
		return j, nil
	}
	most, err := p.ready()
	j.most = most
	return j, err
}

// allocs returns how many allocations a call of the path makes, rounded down.
func (m *meter) allocs(p *path) (int64, error) {
	j, err := p.job()
	if err != nil {
		return 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range allocCalls {
		if j.next != nil {
			j.next()
		}
		j.call(m.clock.Now())
	}
	runtime.ReadMemStats(&after)
	return int64(after.Mallocs-before.Mallocs) / allocCalls, nil
}
