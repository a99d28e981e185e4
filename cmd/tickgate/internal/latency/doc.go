// Package latency measures how long single calls to a gate take on this
// machine, and how much of that is the machine itself.
//
// # One call
//
// The clock is read, the call is made, the clock is read again. Where the path
// takes the caller's time, it gets the first reading. Choosing the key and
// counting the result lie outside. An atomic add before the first reading waits
// until earlier stores have left the processor's buffer: else the call's own
// atomic operation would wait for those of the histogram.
//
// # The empty loop
//
// Between slices of a path, slices of the same loop are run with a function that
// does nothing in the call's place. Its median is the overhead: what two readings
// of the clock and a call put between them. It is subtracted from every figure, those of the empty
// loop too. What is left of the empty loop's tail is the machine: interrupts,
// the hypervisor, other processes, the garbage collector.
//
// # The path's own tail
//
// Own is the difference of the two quantiles, path minus empty loop. If a call
// always took the same time and the machine disturbed both loops alike, it would
// be that time at every quantile. It is not a quantile of the differences, which
// nobody can measure, and errs in two directions: a tail no longer than the
// machine's is hidden by it, and can come out negative; and a longer call meets
// more interrupts than an empty one, which count as its own. So the machine's tail
// is always shown beside, and a target is left open where the machine's tail alone
// is longer than what it allows.
//
// # Arrivals
//
// Without a rate the loop is closed: a call begins when the last one is done. A
// stall then is one slow call, however many would have come meanwhile. With a rate,
// calls are due on a timetable and their time counts from when they were due, so a
// stall is in all of the calls it held up. A slice goes on until none is waiting;
// one that cannot catch up is given up, its waiting calls counted with the time
// they had waited, and the report says so.
package latency
