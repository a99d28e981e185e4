package main

import (
	"github.com/alecthomas/kong"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/server"
)

// AfterApply is called by the parser when the flags are known: from then on all that the
// process says is in one log, also what libraries say by themselves.
func (c *serveCmd) AfterApply(w *world, parsed *kong.Context) error {
	log := c.logger(w)
	server.TakeOver(log)
	warnVariables(log, parsed, w.lookup)
	return nil
}
