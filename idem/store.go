package idem

import (
	"context"
	"fmt"
	"time"
)

// Store keeps what calls answered, so that a retry gets the first one's answer
// instead of doing the work again. See the package comment for what it does not
// promise.
//
// All methods may be called by any number of goroutines at once. With a backend in
// memory they never wait but for the mutex of one shard, held for well under a
// microsecond.
type Store struct {
	backend Backend
	ttl     time.Duration
	lease   time.Duration
	counts  counts
}

// Claim is what Begin returns without an error: the key, or the result that is
// kept for it.
type Claim struct {
	Acquired bool   // the caller has the key, and owes Complete or Release
	Token    Token  // when Acquired
	Result   Result // when not: of the call that completed the key; the caller's own copy
}

// NewStore makes an empty store. It returns every fault of cfg at once.
func NewStore(cfg Config) (*Store, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Store{backend: cfg.Backend, ttl: cfg.TTL, lease: cfg.Lease}, nil
}

// Begin asks for key on behalf of a request with the given fingerprint. Of any
// number of calls for a free key exactly one acquires it, for the time of a lease;
// it must end its turn with Complete or Release, and may Extend it.
//
// Where the key has a result, the claim carries it. Errors: [*InFlightError] while
// another call has the key, [ErrMismatch] if it is in flight or done for another
// fingerprint, [ErrFull], ctx's error if ctx is done, or what the backend failed
// with; then nothing was acquired, as far as is known.
func (s *Store) Begin(ctx context.Context, key Key, print Fingerprint) (Claim, error) {
	e, err := s.backend.Begin(ctx, key, print, s.lease)
	if err != nil {
		s.counts.failed(err)
		return Claim{}, err
	}
	switch e.State {
	case Acquired:
		s.counts.acquired.Add(1)
		return Claim{Acquired: true, Token: e.Token}, nil
	case InFlight:
		s.counts.inFlight.Add(1)
		return Claim{}, &InFlightError{RetryAfter: max(e.After, 1)}
	case Mismatch:
		s.counts.mismatched.Add(1)
		return Claim{}, ErrMismatch
	case Done:
		r, err := decodeResult(e.Value)
		if err != nil {
			s.counts.failed(err)
			return Claim{}, err
		}
		s.counts.replayed.Add(1)
		return Claim{Result: r}, nil
	}
	err = fmt.Errorf("idem: the backend answered Begin with state %d, which there is not", e.State)
	s.counts.failed(err)
	return Claim{}, err
}

// Complete keeps r as the result of the token's key for the TTL, from now on. It
// copies r.
//
// It returns [ErrLost] if the token does not hold the key any more: another call
// may have got it, or even have completed it, and r is not kept. A lease that ran
// out is not lost yet while nobody else asked for the key, for as long again as
// the lease. It returns [ErrFull] if there is no room for r; the key then stays in
// flight, and completing with a smaller result may succeed: see [Memory]. To
// complete again with the same token is no error; the first result stays.
//
// Do not pass a context that ends with the client's connection: the work is done,
// and a result that is not kept is work to be done again.
func (s *Store) Complete(ctx context.Context, token Token, r Result) error {
	err := s.backend.Complete(ctx, token, r.encode(), s.ttl)
	return s.counts.ended(&s.counts.completed, err)
}

// Release frees the token's key without a result: the next Begin acquires it. It
// returns [ErrLost] if the token does not hold the key any more, or completed it,
// and then changes nothing, so it may be deferred beside a Complete.
func (s *Store) Release(ctx context.Context, token Token) error {
	err := s.backend.Release(ctx, token)
	return s.counts.ended(&s.counts.released, err)
}

// Extend makes the token's lease last one lease from now. Work that may take
// longer than a lease calls it now and then; on [ErrLost] it should stop.
func (s *Store) Extend(ctx context.Context, token Token) error {
	err := s.backend.Extend(ctx, token, s.lease)
	return s.counts.ended(&s.counts.extended, err)
}

// TTL returns how long a result is kept.
func (s *Store) TTL() time.Duration { return s.ttl }

// Lease returns how long a claim is held without Extend.
func (s *Store) Lease() time.Duration { return s.lease }

// Sweep drops every record that has expired and returns how many they were. Begin
// drops some as it goes, so a store in use needs no Sweep; one that was busy and
// is idle gives its memory back by it. It holds one shard at a time, briefly. With
// a backend that cannot be swept it does nothing.
func (s *Store) Sweep() int {
	if b, ok := s.backend.(interface{ Sweep() int }); ok {
		return b.Sweep()
	}
	return 0
}
