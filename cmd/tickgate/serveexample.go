package main

import (
	"log/slog"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/examples/memoryapi/memory"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/service"
)

// example is the API of --example. Its gate is its own; operators see it by a core
// around that.
type example struct {
	*memory.Service
	audit func(tickgate.Change) // of the core, which is there before anybody can change anything
	core  *service.Core
}

// newExample makes the example. It reports every fault of the environment.
func (c *serveFlags) newExample(lookup func(string) (string, bool), log *slog.Logger) (*example, error) {
	e := &example{}
	var err error
	e.Service, err = memory.New(memory.Config{
		Lookup: lookup, Log: log, Hold: holdFor(c.Delay),
		Audit:  func(change tickgate.Change) { e.audit(change) },
		Denied: func(apikey, endpoint string, d *tickgate.Decision) { e.core.Denied(apikey, endpoint, 1, d) },
	})
	return e, err
}

// around makes the core of the example's gate.
func (e *example) around(cfg service.Config) (*service.Core, error) {
	var err error
	e.core, err = service.Around(cfg, func(audit func(tickgate.Change)) (*tickgate.Gate, error) {
		e.audit = audit
		return e.Gate(), nil
	})
	return e.core, err
}
