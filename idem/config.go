package idem

import (
	"errors"
	"strconv"
	"time"

	"github.com/tickgate/tickgate/clock"
)

// What a Store is made with unless told otherwise.
const (
	DefaultTTL        = 24 * time.Hour
	DefaultLease      = 30 * time.Second
	DefaultMaxRecords = 100_000
	DefaultMaxBytes   = 128 << 20
)

// Config says what a [Store] is made of. The zero value is a working default.
type Config struct {
	// Clock tells the time to the store's own memory. nil: clock.Default(). With a
	// Backend it is not used.
	Clock clock.Clock

	// TTL is how long a result is kept, from Complete on. 0: 24 h.
	TTL time.Duration

	// Lease is how long a caller of Begin has the key before another may get it, if
	// it neither completes nor extends. 0: 30 s. Make it longer than the work takes,
	// or have the work call Extend.
	Lease time.Duration

	// MaxRecords is the most records kept at one time, in flight and done, 1 to
	// 2^30. 0: 100,000. MaxBytes is the most memory for them, results included, as
	// [Memory] reckons it, 1 to 2^50. 0: 128 MiB. What does not fit is refused with
	// ErrFull. They belong to the store's own memory: leave them 0 with a Backend.
	MaxRecords int
	MaxBytes   int64

	// Backend keeps the records. nil: a [Memory] of the store's own.
	Backend Backend
}

// check completes a configuration and reports every fault of it.
func (c *Config) check() error {
	if c.TTL == 0 {
		c.TTL = DefaultTTL
	}
	if c.Lease == 0 {
		c.Lease = DefaultLease
	}
	faults := []error{
		checkSpan("TTL", c.TTL, DefaultTTL),
		checkSpan("Lease", c.Lease, DefaultLease),
	}
	if c.Backend == nil {
		m, err := NewMemory(MemoryConfig{Clock: c.Clock, MaxRecords: c.MaxRecords, MaxBytes: c.MaxBytes})
		if faults = append(faults, err); err == nil {
			c.Backend = m
		}
		return errors.Join(faults...)
	}
	const own = "must be 0 with a Backend, which has bounds of its own"
	if c.MaxRecords != 0 {
		faults = append(faults, &ConfigError{Field: "MaxRecords", Value: strconv.Itoa(c.MaxRecords), Reason: own})
	}
	if c.MaxBytes != 0 {
		faults = append(faults, &ConfigError{Field: "MaxBytes", Value: strconv.FormatInt(c.MaxBytes, 10), Reason: own})
	}
	return errors.Join(faults...)
}
