//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "faults: needs Linux, for signals and a monotonic clock that processes share")
	os.Exit(2)
}
