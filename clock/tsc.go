package clock

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// clocksourceFile is where Linux says what it keeps its own time by. When the kernel finds the counter wanting
// (cores that disagree, a rate that varies) it changes to another source, so its choice is the best test there is.
const clocksourceFile = "/sys/devices/system/clocksource/clocksource0/current_clocksource"

// TSC is a clock made of the processor's counter: the time stamp counter on amd64, CNTVCT_EL0 on arm64. Its Now is a
// reading of the counter, one load and one multiplication. It starts at the time of [Runtime] and is held to it in
// the background: every 100 ms at first, every 8 s later, both are compared and the rate is changed so that they
// meet, never by more than 500 ppm of the estimated rate. It is usually within a microsecond of Runtime, and within
// a few milliseconds for some seconds after a time daemon has changed the rate of the kernel's clock.
//
// Between comparisons no goroutine exists, only a timer. Where the process or the machine is stopped and the timer
// late, the clock runs 2000 ppm slow until it is compared again. A difference above 50 ms that has come about, by such
// a stop or by a suspension during which the counter went on and the runtime's clock did not, stays for good: the
// rates agree again from then on, but a Time of this clock is no longer near one of Runtime. A processor that sets its counter to zero in a suspension lets the clock go back to where it
// was some seconds before, and stand there, for at most 10 s; where a machine is to sleep like that, use Runtime.
//
// A TSC is made by [NewTSC]. It is safe for concurrent use.
type TSC struct {
	seg atomic.Pointer[segment] // published by refine and Close, loaded by every reading

	mu     sync.Mutex // serializes refine, Close and Describe; no reading takes it
	refine *refiner
	ref    Clock
	timer  *time.Timer
	closed bool
}

// NewTSC calibrates a clock on the processor's counter, which takes at most 20 ms on an idle machine, and returns a
// *TSC. The error says why there is none: the processor does not call its counter invariant, the kernel does not
// keep its own time by it, the system does not tell (any other than Linux), or the package was built without
// assembly. Every call makes a clock of its own; [Default] shares one. Close it to end its refinement.
func NewTSC() (Clock, error) {
	if err := counterUsable(); err != nil {
		return nil, err
	}
	if err := kernelTrusts(runtime.GOOS, kernelClocksource, os.ReadFile); err != nil {
		return nil, err
	}
	ref := runtimeOrigin()
	nsPerTick, s, err := calibrate(ticks, ref, counterFrequency(), time.Sleep)
	if err != nil {
		return nil, err
	}
	t := &TSC{ref: ref}
	var first *segment
	t.refine, first = newRefiner(nsPerTick, s)
	t.seg.Store(first)
	t.mu.Lock() // the timer may fire before it is stored
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(firstSpan-t.refine.margin(), t.refineOnce)
	return t, nil
}

func kernelTrusts(goos, want string, readFile func(string) ([]byte, error)) error {
	if goos != "linux" {
		return fmt.Errorf("clock: no TSC: %s does not tell what it keeps its time by; use Runtime", goos)
	}
	b, err := readFile(clocksourceFile)
	if err != nil {
		return fmt.Errorf("clock: no TSC: cannot tell what the kernel keeps its time by: %w; use Runtime", err)
	}
	if got := strings.TrimSpace(string(b)); got != want {
		return fmt.Errorf("clock: no TSC: the kernel keeps its time by %q, not %q; use Runtime", got, want)
	}
	return nil
}

// Now returns the time. The counter is read after all that precedes the call, also in other goroutines that it is
// synchronized with, so that a Time handed over is never later than one taken afterwards.
func (t *TSC) Now() Time {
	c := ticks()
	s := t.seg.Load()
	if now, ok := s.line(c); ok {
		return now
	}
	return s.beyond(c)
}

// NowUnordered is Now about 8 ns cheaper, without the order: the processor may read the counter some hundred
// nanoseconds, in rare cases microseconds, before loads that precede the call are complete. Successive calls of one
// goroutine do not go back; but a Time received from another goroutine can lie after what NowUnordered returns next.
// It is for callers to whom a slightly stale time does no harm.
func (t *TSC) NowUnordered() Time {
	c := ticksUnordered()
	s := t.seg.Load()
	if now, ok := s.line(c); ok {
		return now
	}
	return s.beyond(c)
}

// refineOnce is called by the timer.
func (t *TSC) refineOnce() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	next, wait := t.refine.step(t.seg.Load(), takeSample(ticks, t.ref))
	if next != nil {
		t.seg.Store(next)
	}
	t.timer.Reset(wait)
}

// Close ends the refinement. Now stays usable: the clock goes on at its last rate and drifts from then on by what
// that is wrong by, usually below 1 ppm. It may be called more than once; the error is always nil. Closing the clock
// that [Default] returns ends the refinement for all its users.
func (t *TSC) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		t.timer.Stop()
		t.seg.Store(t.seg.Load().endless(scaled(t.refine.rate)))
	}
	return nil
}

// Describe tells what the clock runs on and how well.
func (t *TSC) Describe() Source {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.refine
	return Source{
		Name:        "tsc",
		Reason:      fmt.Sprintf("%s is invariant and the kernel keeps its time by it", counterName),
		Frequency:   1e9 / r.rate,
		DriftPPM:    r.drift * 1e6,
		DriftOver:   r.driftOver,
		Offset:      r.offset,
		Refinements: r.refinements,
		Jumps:       r.jumps,
	}
}
