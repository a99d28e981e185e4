package tickgate

import (
	"errors"
	"strconv"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/shard"
)

// DefaultMaxKeys is the number of keys a gate holds unless told otherwise.
const DefaultMaxKeys = 10_000

// Config says what a gate is made of. The zero value is a working default.
type Config struct {
	// Policies are the limits, one policy for each endpoint. nil: policy.Default().
	// An empty set that is not nil denies everything with NoPolicy.
	Policies policy.Set

	// MaxKeys is the most keys, pairs of apikey and endpoint, that are held at one
	// time, 1 to 2^30. 0: DefaultMaxKeys. The memory is taken once, by New: 130
	// bytes for each.
	MaxKeys int

	// OnFull says what happens when one key more is seen. Zero: EvictIdle.
	OnFull OnFull

	// Clock tells the time of calls that do not bring one. nil: clock.Default().
	// Times passed to the At methods are readings of this clock.
	Clock clock.Clock

	// Wall maps times of Clock to wall time, for clock-aligned windows. nil:
	// clock.SystemWall(). A wall clock that reads ahead of ours by the longest time
	// that a message takes to the venue makes windows end for messages when they do
	// for the venue; see policy.Limit.Skew.
	Wall clock.Wall

	// Audit, if not nil, is called for every Apply, Block and Unblock, one after the
	// other, before it returns; not for New. It must not call them itself.
	Audit func(Change)
}

// OnFull says what a gate does when it holds MaxKeys and sees another key.
type OnFull uint8

const (
	// EvictIdle makes room for a tenth of MaxKeys: the keys that nobody asked for
	// longest, among those whose limits are all full, which loses nothing. Only
	// when every key owes, the one that owes least goes, one at a time; this
	// forgives its debt and is counted in Stats.Evictions.Forced.
	EvictIdle OnFull = iota

	// RejectNew never drops a key. New ones are denied with Reason Full.
	RejectNew
)

func (o OnFull) String() string {
	switch o {
	case EvictIdle:
		return "evict-idle"
	case RejectNew:
		return "reject-new"
	}
	return "OnFull(" + strconv.Itoa(int(o)) + ")"
}

// check completes a configuration and reports every fault of it.
func (c *Config) check() error {
	var faults []error
	if c.Policies == nil {
		c.Policies = policy.Default()
	}
	if err := checkPolicies(c.Policies); err != nil {
		faults = append(faults, err)
	}
	if c.MaxKeys == 0 {
		c.MaxKeys = DefaultMaxKeys
	}
	if c.MaxKeys < 0 || c.MaxKeys > shard.MaxKeys {
		faults = append(faults, &ConfigError{
			Field: "MaxKeys", Value: strconv.Itoa(c.MaxKeys), Reason: "must be 1 to " + strconv.Itoa(shard.MaxKeys) + ", or 0 for " + strconv.Itoa(DefaultMaxKeys),
		})
	}
	if c.OnFull > RejectNew {
		faults = append(faults, &ConfigError{
			Field: "OnFull", Value: c.OnFull.String(), Reason: "must be EvictIdle or RejectNew",
		})
	}
	if c.Clock == nil {
		c.Clock = clock.Default()
	}
	if c.Wall == nil {
		c.Wall = clock.SystemWall()
	}
	return errors.Join(faults...)
}
