// Package raw reads the processor's own counter, with nothing around it. It is
// the floor under every clock: no clock built on the counter can be cheaper.
package raw

// Counter returns the processor's counter: RDTSC on amd64, CNTVCT_EL0 on arm64,
// and zero elsewhere and with the tag purego (see Supported). It is one assembly call, without a fence
// and without conversion to nanoseconds; the unit is the counter's own tick.
func Counter() uint64 { return counter() }
