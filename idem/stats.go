package idem

import (
	"errors"
	"sync/atomic"
)

// StoreStats are a store's counts since it was made, and what it holds. The
// counts are read one after the other, not at one instant.
type StoreStats struct {
	// Of Begin, which ended in one of these.
	Acquired   uint64 // the key was free
	Replayed   uint64 // a result was returned
	InFlight   uint64 // another call had the key
	Mismatched uint64 // ErrMismatch

	// Of the other methods, when they succeeded.
	Completed, Released, Extended uint64

	// Of all methods.
	Full   uint64 // ErrFull
	Lost   uint64 // ErrLost
	Failed uint64 // any other error: the backend's, or the context's

	// What there is now, from backends that tell ([Memory] does): expired records
	// that were not dropped yet included.
	Records, MaxRecords int
	Bytes, MaxBytes     int64
}

// counts is written by every method of a store and read by Stats; each field is
// one counter of its own, and publishes nothing.
type counts struct {
	acquired, replayed, inFlight, mismatched atomic.Uint64
	completed, released, extended            atomic.Uint64
	full, lost, other                        atomic.Uint64
}

// failed counts an error.
func (c *counts) failed(err error) {
	switch {
	case errors.Is(err, ErrFull):
		c.full.Add(1)
	case errors.Is(err, ErrLost):
		c.lost.Add(1)
	case errors.Is(err, ErrMismatch):
		c.mismatched.Add(1)
	default:
		c.other.Add(1)
	}
}

// ended counts a call that ended with err, in done if that is nil, and returns err.
func (c *counts) ended(done *atomic.Uint64, err error) error {
	if err != nil {
		c.failed(err)
		return err
	}
	done.Add(1)
	return nil
}

// Usage is what a backend holds, and the most it may.
type Usage struct {
	Records, MaxRecords int
	Bytes, MaxBytes     int64
}

// Stats returns the counts, and the backend's usage if it has a method Usage.
func (s *Store) Stats() StoreStats {
	c := &s.counts
	st := StoreStats{
		Acquired: c.acquired.Load(), Replayed: c.replayed.Load(),
		InFlight: c.inFlight.Load(), Mismatched: c.mismatched.Load(),
		Completed: c.completed.Load(), Released: c.released.Load(), Extended: c.extended.Load(),
		Full: c.full.Load(), Lost: c.lost.Load(), Failed: c.other.Load(),
	}
	if b, ok := s.backend.(interface{ Usage() Usage }); ok {
		u := b.Usage()
		st.Records, st.MaxRecords, st.Bytes, st.MaxBytes = u.Records, u.MaxRecords, u.Bytes, u.MaxBytes
	}
	return st
}
