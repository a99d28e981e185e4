//go:build !unix || purego

package idem

import "errors"

func mapPages(uintptr) ([]byte, error) { return nil, errors.ErrUnsupported }
func unmapPages([]byte)                {}
