//go:build !gc || purego || !(amd64 || arm64)

package clock

import (
	"errors"
	"runtime"
)

const (
	counterName       = "none"
	kernelClocksource = "none"
)

// counterUsable returns an error, and NewTSC passes it on, so the functions below are never called in earnest.
func counterUsable() error {
	return errors.New("clock: no TSC: built without assembly (purego, or GOARCH=" + runtime.GOARCH + "); use Runtime")
}

func ticks() uint64            { return 0 }
func ticksUnordered() uint64   { return 0 }
func counterFrequency() uint64 { return 0 }
