package promlimit

import (
	"errors"
	"strconv"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/idem"
)

// DefaultMaxPolicies is how many policies have series of their own unless told
// otherwise.
const DefaultMaxPolicies = 200

// Other is the policy that those beyond MaxPolicies are added up under.
const Other = "other"

// Config says what is shown. Gate is required; the others are left out where nil.
type Config struct {
	Gate    *tickgate.Gate
	Sampler *Sampler // for check_duration_seconds

	// MaxPolicies is how many policies have series of their own; 1 to 10,000. 0: 200. The
	// first ones of the gate's set do when the collector is first scraped, later ones while
	// there is room. Whichever a policy has, a series or a part in [Other], it keeps, but
	// one that the gate has no more yields its series to a new one.
	MaxPolicies int

	// Idempotency returns the counts of a store of results, as idem.Store.Stats does.
	Idempotency func() idem.StoreStats

	// Sources returns what became of loading policies, for each source of them.
	Sources func() []Source

	// Sync returns what became of sharing budgets.
	Sync func() Sync
}

// Source is a source of policies: a file, a database, an operator.
type Source struct {
	Name        string // label source: a name from the program, not from what it loads
	Applied     uint64 // sets that came into force
	Refused     uint64 // sets that had a fault, and attempts that did not get one
	LastSuccess time.Time

	// Failing says that the last attempt was refused, or got nothing: what is in force
	// is older than what the source says.
	Failing bool

	// Connection is how a source that needs a connection hears of changes: "listening",
	// "polling", or [NotConnected]. "": it needs none, and has no series connected.
	Connection string
}

// NotConnected is the [Source.Connection] of a source that hears of no changes now.
const NotConnected = "not connected"

// check reports every fault.
func (c *Config) check() error {
	var faults []error
	if c.Gate == nil {
		faults = append(faults, &tickgate.ConfigError{Field: "Gate", Value: "nil", Reason: "is required"})
	}
	if c.MaxPolicies < 0 || c.MaxPolicies > 10_000 {
		faults = append(faults, &tickgate.ConfigError{
			Field: "MaxPolicies", Value: strconv.Itoa(c.MaxPolicies), Reason: "must be 1 to 10,000, or 0 for " + strconv.Itoa(DefaultMaxPolicies),
		})
	}
	return errors.Join(faults...)
}
