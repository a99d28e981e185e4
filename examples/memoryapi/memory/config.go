package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/policy"
)

// Sizes of a service unless told otherwise.
const (
	DefaultMaxQueue    = 1_000
	DefaultMaxMemories = 1_000
)

// maxBody is the longest body of a request, in bytes. Times MaxQueue and MaxMemories
// it bounds what the service keeps.
const maxBody = 64 << 10

// Config says what a [Service] is made of. The zero value is a working default.
type Config struct {
	// Lookup reads variables of the environment, such as os.LookupEnv: the limits as
	// [policy.FromEnv] reads them, MEM_IDEMPOTENCY_TTL_SECS and the others of
	// [policy.EnvFrom]. nil: none is set.
	Lookup func(string) (string, bool)

	// Clock tells the time to limits and idempotency. nil: clock.Default(). Wall is
	// for limits aligned to the calendar. nil: the system's, which goes with a nil
	// Clock; for another Clock see [clock.WallOf].
	Clock clock.Clock
	Wall  clock.Wall

	// Log gets a line for each request, with neither the caller's key nor anything
	// else a client wrote. nil: nothing is logged.
	Log *slog.Logger

	// Hold is called by each ingest that runs, before its job waits: a delay in it
	// shows what retries get that come meanwhile. nil: nothing is.
	Hold func(context.Context)

	// Audit is told of changes of the gate, as [tickgate.Config] has it. nil: nobody is.
	Audit func(tickgate.Change)

	// Denied is told of each request that a limit, a ban or a block denied: of whom and
	// for what, as the gate names them. It must not keep d. nil: nobody is.
	Denied func(apikey, endpoint string, d *tickgate.Decision)

	// MaxQueue is the most jobs that wait, 1 to 2^20; one more is answered with 503.
	// 0: DefaultMaxQueue.
	MaxQueue int

	// MaxMemories is the most memories kept, of all callers together, 1 to 2^20; one
	// more takes the place of the oldest. 0: DefaultMaxMemories.
	MaxMemories int

	// MaxRecords is the most idempotency keys remembered at one time, as
	// [idem.Config] has it; one more is answered with 503. 0: idem.DefaultMaxRecords.
	MaxRecords int
}

// check completes a configuration and reads the environment. It reports every fault.
func (c *Config) check() (set policy.Set, env policy.Env, err error) {
	if c.Lookup == nil {
		c.Lookup = func(string) (string, bool) { return "", false }
	}
	if c.Clock == nil {
		c.Clock = clock.Default()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Hold == nil {
		c.Hold = func(context.Context) {}
	}
	set, limits := policy.FromEnv(policy.MemoryAPI(), c.Lookup)
	env, others := policy.EnvFrom(c.Lookup)
	return set, env, errors.Join(limits, others,
		size("MaxQueue", &c.MaxQueue, DefaultMaxQueue),
		size("MaxMemories", &c.MaxMemories, DefaultMaxMemories),
		size("MaxRecords", &c.MaxRecords, idem.DefaultMaxRecords),
	)
}

func size(field string, n *int, fallback int) error {
	if *n == 0 {
		*n = fallback
	}
	if *n < 1 || *n > 1<<20 {
		return &tickgate.ConfigError{Field: field, Value: fmt.Sprint(*n), Reason: fmt.Sprintf("must be 1 to %d, or 0 for %d", 1<<20, fallback)}
	}
	return nil
}
