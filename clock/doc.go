// Package clock tells monotonic time in nanoseconds, cheaply, to callers that ask for it in every decision.
//
//	          one origin, shared by all real clocks of the process
//	Runtime ──┬────────────────────────────────────────────▶  the clock of the Go runtime
//	TSC ──────┘ the processor's counter, slewed to Runtime    cheaper per read, same time within microseconds
//	Coarse ───  Runtime, looked at once per step              cheapest, late by up to a step
//	Manual ───  what the test or the replay says
//	Wall ─────  maps a Time to wall time, for windows that are aligned to the calendar
//
// [Default] takes the counter only where the processor calls it invariant and the kernel itself keeps its time by
// it, and the runtime's clock everywhere else; [Describe] says which and why. Importing the package costs nothing:
// the origin is set by the first real clock made, and the counter is calibrated, within 20 ms, by the first call of
// [Default] or [NewTSC].
//
// Built with the tag purego, or for a processor without an assembly file here, the package has no counter and
// [NewTSC] returns an error.
package clock
