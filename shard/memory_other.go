//go:build !unix || purego

package shard

import "errors"

func mapPages(uintptr) ([]byte, error) { return nil, errors.ErrUnsupported }
func unmapPages([]byte)                {}
func adviseHuge([]byte) bool           { return false }
func installed() uint64                { return 0 }
