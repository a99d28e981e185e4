//go:build unix && !purego

package tickgate_test

// offHeap is whether keys are held outside the Go heap.
const offHeap = true
