//go:build !unix || purego

package tickgate_test

const offHeap = false
