package service

import (
	"github.com/tickgate/tickgate"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/admin"
)

// Beside has the operators' port be about one more gate of the process, by its name: its
// decisions are counted there, and who is blocked is blocked in it too. Its changes are for
// Changes.Of. Call it before Run and Admin.
func (c *Core) Beside(name string, gate *tickgate.Gate) {
	c.beside = append(c.beside, admin.Beside{Name: name, Gate: gate})
}

// Versioned has version tell that of the policies, of a core without layers. It is called
// for each denial.
func (c *Core) Versioned(version func() string) { c.version = version }

// stats counts what all gates decided. Policies of gates beside begin with the gate's name.
func (c *Core) stats() tickgate.Stats {
	all := c.Gate.Stats()
	for _, b := range c.beside {
		s := b.Gate.Stats()
		for _, p := range s.Policies {
			p.Endpoint = b.Name + ": " + p.Endpoint
			all.Policies = append(all.Policies, p)
		}
		all.RollbacksLost += s.RollbacksLost
		all.NoPolicy += s.NoPolicy
		all.BadRequests += s.BadRequests
	}
	return all
}
