// Package idemtest holds what every [idem.Backend] must do, as tests: run [Backend],
// [Bounds] and [Fire] on one of your own.
//
//	func TestBackend(t *testing.T) {
//		idemtest.Backend(t, func(t *testing.T) (idem.Backend, func(time.Duration)) {
//			c := clock.NewManual(0)
//			m, err := idem.NewMemory(idem.MemoryConfig{Clock: c})
//			require.NoError(t, err)
//			return m, func(d time.Duration) { c.Advance(d) }
//		})
//	}
//
// The tests do not sleep. Time is what the maker's second result makes it: it moves
// the backend's time forward, and from one call to the next the backend's time must
// not move otherwise by more than [Grain] in all. Spans are of minutes, so a
// backend whose time cannot be held still is one that moves by less.
package idemtest

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/idem"
)

// Grain is how late, at most, a backend may free a key or drop a record. It may
// not do either early.
const Grain = 10 * time.Millisecond

// Maker makes an empty backend for one test, and what moves its time forward. Both
// may be called by many goroutines at once.
type Maker func(t *testing.T) (b idem.Backend, advance func(time.Duration))

const (
	lease = time.Minute
	ttl   = time.Hour
)

var (
	ctx    = context.Background()
	printA = idem.FingerprintOf("POST", "/orders", "", []byte("a"))
	printB = idem.FingerprintOf("POST", "/orders", "", []byte("b"))
)

func keyOf(n int) idem.Key {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	return idem.KeyOf("alice", "POST /orders", string(b[:]))
}

// rig is a backend under test.
type rig struct {
	idem.Backend
	t       *testing.T
	advance func(time.Duration)
}

func (r rig) begin(n int, print idem.Fingerprint) idem.Entry {
	r.t.Helper()
	e, err := r.Begin(ctx, keyOf(n), print, lease)
	require.NoError(r.t, err)
	return e
}

func (r rig) acquire(n int) idem.Token {
	r.t.Helper()
	e := r.begin(n, printA)
	require.Equal(r.t, idem.Acquired, e.State)
	require.Equal(r.t, keyOf(n), e.Token.Key())
	require.Nil(r.t, e.Value)
	return e.Token
}

// inFlight asserts that key n is, and for how long: for left, or up to Grain more.
func (r rig) inFlight(n int, left time.Duration) {
	r.t.Helper()
	e := r.begin(n, printA)
	require.Equal(r.t, idem.InFlight, e.State)
	require.GreaterOrEqual(r.t, e.After, left-Grain)
	require.LessOrEqual(r.t, e.After, left+Grain)
	require.Zero(r.t, e.Token)
}

func (r rig) done(n int, value string) {
	r.t.Helper()
	e := r.begin(n, printA)
	require.Equal(r.t, idem.Done, e.State)
	require.Equal(r.t, value, string(e.Value))
	require.Zero(r.t, e.Token)
}

func (r rig) complete(token idem.Token, value string) error {
	return r.Complete(ctx, token, []byte(value), ttl)
}

// lost asserts that token is good for nothing.
func (r rig) lost(token idem.Token, why string) {
	r.t.Helper()
	require.ErrorIs(r.t, r.complete(token, "of a lost token"), idem.ErrLost, why)
	require.ErrorIs(r.t, r.Extend(ctx, token, lease), idem.ErrLost, why)
	require.ErrorIs(r.t, r.Release(ctx, token), idem.ErrLost, why)
}
