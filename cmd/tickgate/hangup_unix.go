//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// hangups returns a channel that gets something for SIGHUP, until stop. Several that
// come at once are one.
func hangups() (c <-chan struct{}, stop func()) {
	signals, out := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(signals, syscall.SIGHUP)
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-signals:
				select {
				case out <- struct{}{}:
				default:
				}
			case <-ended:
				return
			}
		}
	}()
	return out, func() {
		signal.Stop(signals)
		close(ended)
	}
}
