//go:build gc && !purego

package clock

import "errors"

const (
	counterName       = "TSC"
	kernelClocksource = "tsc" // the kernel's name for it
)

// ticks reads the counter after all that precedes it in program order.
//
//go:noescape
func ticks() uint64

// ticksUnordered reads the counter; the processor may do so before earlier loads are complete.
//
//go:noescape
func ticksUnordered() uint64

//go:noescape
func cpuid(leaf uint32) (eax, edx uint32)

// counterUsable says whether the processor promises a counter of constant rate that no power state stops.
func counterUsable() error {
	const (
		maxExtended = 0x8000_0000
		features    = 0x8000_0001
		power       = 0x8000_0007
		rdtscp      = 1 << 27 // of features, EDX
		invariant   = 1 << 8  // of power, EDX
	)
	if top, _ := cpuid(maxExtended); top < power {
		return errors.New("clock: no TSC: the processor does not say whether its TSC is invariant; use Runtime")
	}
	if _, edx := cpuid(power); edx&invariant == 0 {
		return errors.New("clock: no TSC: the processor does not call its TSC invariant; use Runtime")
	}
	if _, edx := cpuid(features); edx&rdtscp == 0 {
		return errors.New("clock: no TSC: the processor has no RDTSCP; use Runtime")
	}
	return nil
}

// counterFrequency returns 0: the processor does not tell the frequency, it has to be measured.
func counterFrequency() uint64 { return 0 }
