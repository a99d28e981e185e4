package tickgate

import (
	"strconv"
	"sync"
	"sync/atomic"

	uatomic "go.uber.org/atomic"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/shard"
)

// Gate decides. Make one with [New] and share it.
type Gate struct {
	// First, because on 32-bit machines only the beginning of an allocation is sure
	// to be aligned for 64-bit atomics.
	bad   uatomic.Uint64 // requests refused as BadRequest
	stray uatomic.Uint64 // requests refused as NoPolicy

	number uint32 // tells this gate's decisions from another's
	ticker shard.Ticker
	clock  clock.Clock
	table  *shard.Table
	routes atomic.Pointer[routes]

	wall    clock.Wall
	hook    func(Change)
	handles handles
	waits   waits
	groups  atomic.Uint64 // that were joined

	mu      sync.Mutex // serializes Apply and Block; no decision takes it
	known   map[string]*shard.Policy
	ledger  *Ledger // of the budgets in force; nil: none
	blocked bool    // everyone is
}

// gates counts the gates that were made.
var gates atomic.Uint32

// New makes a gate. It reports every fault of the configuration at once, each a
// [*ConfigError]. All memory that keys will need is reserved here.
func New(cfg Config) (*Gate, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	table, err := shard.New(shard.Options{MaxKeys: cfg.MaxKeys, Reject: cfg.OnFull == RejectNew, Clock: cfg.Clock})
	if err != nil {
		return nil, &ConfigError{Field: "MaxKeys", Value: strconv.Itoa(cfg.MaxKeys), Reason: err.Error()}
	}
	g := &Gate{
		number: gates.Add(1), clock: cfg.Clock, wall: cfg.Wall, table: table,
		known: map[string]*shard.Policy{},
	}
	g.ticker.Other = cfg.Clock
	g.ticker.TSC, _ = cfg.Clock.(*clock.TSC)
	if err := g.apply(cfg.Policies, nil); err != nil {
		return nil, err
	}
	g.hook = cfg.Audit
	return g, nil
}

// Policies returns a copy of the policies in force.
func (g *Gate) Policies() policy.Set { return g.routes.Load().set.Clone() }

// Close ends the gate's use. Decisions that are under way, and later ones, are
// still right; the memory goes back to the system when the gate and its handles
// are no longer reachable. It never fails and may be called again.
func (g *Gate) Close() error { return nil }

// Now reads the gate's clock, for the methods that take the time.
func (g *Gate) Now() clock.Time { return g.ticker.Now() }

// maxName is the longest apikey or endpoint, in bytes.
const maxName = 256

func badName(s string) bool { return uint(len(s)-1) >= maxName }
