//go:build gc && !purego

package clock

const (
	counterName       = "CNTVCT_EL0"
	kernelClocksource = "arch_sys_counter" // the kernel's name for it
)

// ticks reads the counter after all that precedes it in program order.
//
//go:noescape
func ticks() uint64

// ticksUnordered reads the counter; the processor may do so before earlier loads are complete.
//
//go:noescape
func ticksUnordered() uint64

// counterFrequency returns the frequency in Hz that the firmware wrote down, which may be 0.
//
//go:noescape
func counterFrequency() uint64

// counterUsable returns nil: the architecture makes the counter run at one rate in every power state.
func counterUsable() error { return nil }
