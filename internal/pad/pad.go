// Package pad keeps values that different cores write on different cache lines.
package pad

// LineSize is what a value must be kept apart by: two lines of 64 bytes, because
// amd64 fetches lines in pairs and Apple's and some other arm64 cores have lines
// of 128. It is a constant of ours because the one in golang.org/x/sys/cpu is 0
// on wasm.
const LineSize = 128

// Line is as wide as [LineSize].
type Line [LineSize]byte
