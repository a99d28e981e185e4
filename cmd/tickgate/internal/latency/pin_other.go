//go:build !linux

package latency

import (
	"errors"
	"runtime"
)

var errNoPin = errors.New("pinning is there on Linux only, not on " + runtime.GOOS + "; leave --cpu out")

func cpus() ([]int, error) { return nil, errNoPin }

func pin(int) (unpin func(), err error) { return nil, errNoPin }
