//go:build !unix

package main

// hangups returns a channel that gets nothing: there is no SIGHUP here.
func hangups() (c <-chan struct{}, stop func()) { return nil, func() {} }
