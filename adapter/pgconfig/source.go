package pgconfig

import (
	"context"
	"time"

	"github.com/tickgate/tickgate/policy"
)

// Source is one place that policies come from. [*Postgres] and [*File] are sources;
// others can be written. All methods may be called from any goroutine.
type Source interface {
	// Name stands for the source in logs, audits and metrics, without spaces and "@".
	Name() string
	// Current returns the last good set; nil before there was one. It is a copy.
	Current() policy.Set
	// Version tells one content of the source from another; "" before there was one.
	Version() string
	// LastError returns why the last reading was no good; nil if it was good.
	LastError() error
	// Stats returns what was counted since the source was made.
	Stats() Stats
	// Load reads the source now. An error is also the LastError, and leaves Current as
	// it was.
	Load(ctx context.Context) error
	// Run follows the source until ctx is done, and only then returns. It calls changed
	// after Current has changed, whoever read it: Run itself or Load. Call it once at a
	// time.
	Run(ctx context.Context, changed func())
}

// Results of one reading, as [Stats] counts them.
const (
	Changed   = "changed"   // good, and another set than before
	Unchanged = "unchanged" // good, and the same set
	Rejected  = "rejected"  // read, but not a valid set, or empty
	Failed    = "failed"    // could not be read: no connection, no file, no right to
)

// Stats are the counters of a source, or of a [Stack]. They are a copy.
type Stats struct {
	Source   string
	Version  string
	Policies int // in the last good set

	// Reloads are the readings by result; each of the four is there, also at zero. A
	// look that found nothing new to read is none.
	Reloads map[string]uint64

	// LastSuccess is when the source was last seen to be good; zero if never.
	LastSuccess time.Time
	LastError   error

	// Connected and Listening are PostgreSQL's: whether there is a connection now, and
	// whether it hears of changes or has to look for them. Connects and Notifications
	// count since the start.
	Connected, Listening    bool
	Connects, Notifications uint64
}
