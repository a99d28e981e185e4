package tickgate

import (
	"time"

	"github.com/tickgate/tickgate/policy"
)

// Change is one change of what a gate enforces, as [Config].Audit is told of it:
// who, when, and what was before and after. Rules for market access ask for such a
// record of every change of a limit and every use of a kill switch.
type Change struct {
	What ChangeKind
	Who  string    // as given to [Gate.As]; empty where nobody said
	When time.Time // by the gate's wall clock

	Old, New policy.Set // the policies before and after; equal where they were not changed

	// APIKey is who was blocked or unblocked; empty is everyone.
	APIKey string

	// Err is why nothing was changed: the faults of a set that was rejected.
	Err error
}

// ChangeKind is what was changed.
type ChangeKind uint8

// The kinds of changes.
const (
	Applied   ChangeKind = iota // policies, by Apply; with Err set, rejected
	BlockSet                    // by Block
	BlockLift                   // by Unblock
)

func (k ChangeKind) String() string {
	switch k {
	case Applied:
		return "apply"
	case BlockSet:
		return "block"
	case BlockLift:
		return "unblock"
	}
	return "change"
}

// Operator changes a gate in somebody's name, which the audit hook is told.
type Operator struct {
	g   *Gate
	who string
}

// As returns the operator named who, a person or a system. Gate.Apply, Block and
// Unblock are those of As("").
func (g *Gate) As(who string) Operator { return Operator{g, who} }

// audit tells the hook of a change, in the order in which changes happen. The
// gate's lock is held.
func (o Operator) audit(c Change) {
	if o.g.hook == nil {
		return
	}
	c.Who = o.who
	c.When = time.Unix(0, o.g.wall.UnixNano(o.g.Now()))
	o.g.hook(c)
}
