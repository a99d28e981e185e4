//go:build !gc || purego || (!amd64 && !arm64)

package raw

// Supported says whether Counter reads a counter on this architecture.
const Supported = false

func counter() uint64 { return 0 }
