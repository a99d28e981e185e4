// Package denials remembers what was denied, for people who look: the last rejects,
// and the keys that were denied most. Its memory is taken once and never grows with
// the number of callers.
package denials

import (
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tickgate/tickgate"
)

// Defaults of a [Config].
const (
	DefaultRecent = 256
	DefaultKeys   = 512
	DefaultPeriod = 10 * time.Minute
)

// most bounds both numbers of a Config.
const most = 1 << 16

// longest is how much of a name is looked at and kept, in bytes: a gate takes no longer
// one, and a denial for its length must not cost memory.
const longest = 256

// Config says how much is remembered. The zero value is a working default.
type Config struct {
	Recent int // rejects, 1 to 65,536; 0: 256, of at most 1 KiB each
	Keys   int // keys that are counted at one time, 1 to 65,536; 0: 512

	// Period is how long denials of a key count: at least so long, at most twice.
	// 0: 10 minutes.
	Period time.Duration

	// ShowKeys keeps keys as they are. Else what is kept, and shown, is a hash that
	// differs from process to process, so that it says nothing elsewhere.
	ShowKeys bool
}

// Denial is one request that was not let pass.
type Denial struct {
	At         time.Time
	Gate       string // that denied, by one of the few names of the program's gates
	APIKey     string
	Endpoint   string
	Limit      string // that decided; "" of a block or a ban
	Reason     tickgate.Reason
	Cost       int64         // tokens that were asked for
	RetryAfter time.Duration // tickgate.Never: it cannot pass
	Version    string        // of the policies in force
}

// Reject is a Denial as it is remembered.
type Reject struct {
	Denial        // APIKey is empty
	Key    string // the key or its hash, as ShowKeys says
}

// Log remembers denials. All methods may be called by any number of goroutines at once.
type Log struct {
	cfg  Config
	salt [32]byte // of the hashes

	mu     sync.Mutex // held for some 100 ns by Add, for microseconds by the others
	ring   []Reject
	last   Denial // copies of its Endpoint and Limit
	total  uint64 // added so far; the next one goes to total % len(ring)
	now    *top   // since turned
	before *top   // in the period before
	turned time.Time
	since  time.Time // the beginning of before, or of now in the first period
}

// New makes a log. It reports every fault of the configuration at once.
func New(cfg Config) (*Log, error) {
	var faults []error
	number := func(field string, n *int, otherwise int) {
		if *n == 0 {
			*n = otherwise
		}
		if *n < 1 || *n > most {
			faults = append(faults, &tickgate.ConfigError{
				Field: field, Value: strconv.Itoa(*n), Reason: "must be 1 to " + strconv.Itoa(most) + ", or 0 for " + strconv.Itoa(otherwise),
			})
		}
	}
	number("Recent", &cfg.Recent, DefaultRecent)
	number("Keys", &cfg.Keys, DefaultKeys)
	if cfg.Period == 0 {
		cfg.Period = DefaultPeriod
	}
	if cfg.Period < 0 {
		faults = append(faults, &tickgate.ConfigError{Field: "Period", Value: cfg.Period.String(), Reason: "must be above zero, or 0 for " + DefaultPeriod.String()})
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	l := &Log{cfg: cfg, ring: make([]Reject, 0, cfg.Recent), now: newTop(cfg.Keys), before: newTop(cfg.Keys)}
	_, _ = rand.Read(l.salt[:]) // it does not fail
	return l, nil
}

// Add remembers a denial. It costs well under a microsecond, and keeps no string of d
// that it did not copy.
func (l *Log) Add(d *Denial) {
	r := Reject{Denial: *d, Key: l.Name(d.APIKey)}
	r.APIKey = ""
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.Endpoint != l.last.Endpoint { // mostly it is: then there is a copy
		l.last.Endpoint = short(d.Endpoint)
	}
	if d.Limit != l.last.Limit {
		l.last.Limit = short(d.Limit)
	}
	r.Endpoint, r.Limit = l.last.Endpoint, l.last.Limit
	l.turn(d.At)
	l.now.add(whose{d.Gate, r.Key}, r.Endpoint, d.At)
	if len(l.ring) < cap(l.ring) {
		l.ring = append(l.ring, r)
	} else {
		l.ring[l.total%uint64(len(l.ring))] = r
	}
	l.total++
}

// short returns a copy of a name, of at most longest bytes.
func short(s string) string { return strings.Clone(s[:min(len(s), longest)]) }

// Total returns how many denials were added so far.
func (l *Log) Total() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// Recent returns the last n rejects, or as many as there are, the newest first.
func (l *Log) Recent(n int) []Reject {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Reject, max(0, min(n, len(l.ring))))
	for i := range out {
		out[i] = l.ring[(l.total-1-uint64(i))%uint64(len(l.ring))]
	}
	return out
}
