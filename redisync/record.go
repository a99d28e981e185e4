package redisync

import (
	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// record is what the reconciler knows of one account: one limit of one key. It exists
// from the first use until everything is acknowledged and the limit full again; what
// comes after that is a new record with a higher epoch.
//
// On credit:
//
//	settled ──────────── acknowledged by Redis in this epoch
//	   + pending ─────── used here since, as the gate says; at most the credit
//	   = total ───────── what the next call carries, never less than sent
//
// When Redis was away, pending is replaced by
//
//   - owed ────────── used before it was, and settled here since
//   - share.charge ── the same not settled, and what of the share is to be charged
//
// sent is the highest total of a call whose fate is unknown. As long as more was told than
// is settled, the account stays open in the gate, so that refunds cannot lower what is
// pending.
type record struct {
	id    tickgate.Account
	terms *terms
	key   string
	mark  string // of a lease

	epoch   int64
	settled int64 // on credit
	owed    int64
	sent    int64 // 0: no call is unknown
	opened  int64 // pending tokens that the call in flight carries
	flight  uint64

	since clock.Time // of the first use that is not answered yet; 0: all is
	retry clock.Time // not to be sent before
	vague clock.Time // cannot be described, and is forgotten then; 0: it can be
	full  clock.Time // when it is full again, by the last answer

	share *share
	lease *lease

	in         *list
	prev, next *record
	lane       int
	class      uint8
	fails      uint8
	acked      bool // Redis answered at least once in this epoch
	dirty      bool // used again while a call was in flight
	look       bool // to be asked for though nothing was used: the policy changed
	gone       bool // left the table while a call was in flight
}

// unknown reports whether a call was sent of which nobody knows if it was executed.
func (r *record) unknown() bool { return r.sent != 0 }

// flying reports whether a call is in flight.
func (r *record) flying() bool { return r.flight != 0 }

// terms are what the records of one limit of one endpoint have in common.
type terms struct {
	tickgate.Terms
	part    string // the limit's, of keys
	policy  Policy
	checked clock.Time // when the gate last confirmed them
	users   int
	void    bool // the limit has another name now: its records start anew
}

// name is the key of terms. part is the limit's, of keys.
type name struct{ endpoint, part string }
