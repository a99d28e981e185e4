package idem

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

var ctx = context.Background()

// newStore makes a store on a clock that stands at one hour.
func newStore(t testing.TB, cfg Config) (*Store, *clock.Manual) {
	c := clock.NewManual(clock.Time(time.Hour))
	cfg.Clock = c
	s, err := NewStore(cfg)
	require.NoError(t, err)
	return s, c
}

func keyOf(n int) Key { return KeyOf("alice", "POST /orders", fmt.Sprint(n)) }

var (
	printA = FingerprintOf("POST", "/orders", "", []byte("a"))
	printB = FingerprintOf("POST", "/orders", "", []byte("b"))
)

func acquire(t testing.TB, s *Store, key Key) Token {
	c, err := s.Begin(ctx, key, printA)
	require.NoError(t, err)
	require.True(t, c.Acquired)
	require.Equal(t, key, c.Token.Key())
	return c.Token
}

func TestStoreReplaysResult(t *testing.T) {
	s, _ := newStore(t, Config{})
	body := []byte("job 7")
	header := [][2]string{{"Content-Type", "text/plain"}, {"Link", "a"}, {"Link", ""}}
	want := Result{Status: 202, Header: [][2]string{{"Content-Type", "text/plain"}, {"Link", "a"}, {"Link", ""}}, Body: []byte("job 7")}
	tok := acquire(t, s, keyOf(1))
	require.NoError(t, s.Complete(ctx, tok, Result{202, header, body}))
	body[0], header[0][0] = 'X', "X" // the store has its own copy
	for range 3 {
		c, err := s.Begin(ctx, keyOf(1), printA)
		require.NoError(t, err)
		require.Equal(t, Claim{Result: want}, c)
		c.Result.Body[0], c.Result.Header[0][1] = 'Y', "Y" // and so has each caller
	}
}

func TestStoreInFlight(t *testing.T) {
	s, c := newStore(t, Config{})
	acquire(t, s, keyOf(1))
	c.Advance(10 * time.Second)
	_, err := s.Begin(ctx, keyOf(1), printA)
	var flying *InFlightError
	require.ErrorAs(t, err, &flying)
	require.Equal(t, 20*time.Second, flying.RetryAfter)
	require.EqualError(t, err, "idem: the first call with this key is still running; retry within 20s")
	acquire(t, s, keyOf(2))
}

func TestStoreMismatch(t *testing.T) {
	s, c := newStore(t, Config{})
	tok := acquire(t, s, keyOf(1))
	_, err := s.Begin(ctx, keyOf(1), printB)
	require.ErrorIs(t, err, ErrMismatch, "in flight")
	require.NoError(t, s.Complete(ctx, tok, Result{Status: 200}))
	_, err = s.Begin(ctx, keyOf(1), printB)
	require.ErrorIs(t, err, ErrMismatch, "done")

	c.Advance(DefaultTTL)
	claim, err := s.Begin(ctx, keyOf(1), printB)
	require.NoError(t, err)
	require.True(t, claim.Acquired, "forgotten, the key is anybody's")
	_, err = s.Begin(ctx, keyOf(1), printA)
	require.ErrorIs(t, err, ErrMismatch)
}

func TestStoreRelease(t *testing.T) {
	s, _ := newStore(t, Config{})
	first := acquire(t, s, keyOf(1))
	require.NoError(t, s.Release(ctx, first))
	require.ErrorIs(t, s.Release(ctx, first), ErrLost)
	second := acquire(t, s, keyOf(1))
	require.ErrorIs(t, s.Release(ctx, first), ErrLost, "the first holder does not free the second's key")
	require.NoError(t, s.Complete(ctx, second, Result{Status: 200}))
	require.ErrorIs(t, s.Release(ctx, second), ErrLost, "a result is not released")
	c, err := s.Begin(ctx, keyOf(1), printA)
	require.NoError(t, err)
	require.Equal(t, 200, c.Result.Status)
}

func TestStoreLeaseEndsExactly(t *testing.T) {
	s, c := newStore(t, Config{})
	first := acquire(t, s, keyOf(1))
	c.Advance(DefaultLease - 1)
	_, err := s.Begin(ctx, keyOf(1), printA)
	var flying *InFlightError
	require.ErrorAs(t, err, &flying)
	require.Equal(t, time.Duration(1), flying.RetryAfter)

	c.Advance(1)
	second := acquire(t, s, keyOf(1))
	require.Greater(t, second.Fence(), first.Fence())
	require.NotEqual(t, first, second)
	require.ErrorIs(t, s.Complete(ctx, first, Result{Status: 201}), ErrLost)
	require.ErrorIs(t, s.Extend(ctx, first), ErrLost)
	require.ErrorIs(t, s.Release(ctx, first), ErrLost)
	require.NoError(t, s.Complete(ctx, second, Result{Status: 202}))
	require.ErrorIs(t, s.Complete(ctx, first, Result{Status: 201}), ErrLost)
	claim, err := s.Begin(ctx, keyOf(1), printA)
	require.NoError(t, err)
	require.Equal(t, 202, claim.Result.Status)
}

// An owner who is late loses nothing while nobody asked for its key, for one lease
// more.
func TestStoreLateOwner(t *testing.T) {
	s, c := newStore(t, Config{})
	late, later, extended := acquire(t, s, keyOf(1)), acquire(t, s, keyOf(2)), acquire(t, s, keyOf(3))
	c.Advance(2*DefaultLease - 1)
	require.NoError(t, s.Extend(ctx, extended))
	require.NoError(t, s.Complete(ctx, late, Result{Status: 200}))
	c.Advance(1)
	require.ErrorIs(t, s.Complete(ctx, later, Result{Status: 200}), ErrLost)
	_, err := s.Begin(ctx, keyOf(3), printA)
	require.ErrorAs(t, err, new(*InFlightError))
}

func TestStoreExtend(t *testing.T) {
	s, c := newStore(t, Config{Lease: 10 * time.Second})
	tok := acquire(t, s, keyOf(1))
	for range 10 {
		c.Advance(9 * time.Second)
		require.NoError(t, s.Extend(ctx, tok))
		_, err := s.Begin(ctx, keyOf(1), printA)
		var flying *InFlightError
		require.ErrorAs(t, err, &flying)
		require.Equal(t, 10*time.Second, flying.RetryAfter)
	}
	require.NoError(t, s.Complete(ctx, tok, Result{}))
	require.ErrorIs(t, s.Extend(ctx, tok), ErrLost)
}

func TestStoreTTLEndsExactly(t *testing.T) {
	s, c := newStore(t, Config{})
	tok := acquire(t, s, keyOf(1))
	c.Advance(time.Second) // the TTL counts from Complete
	require.NoError(t, s.Complete(ctx, tok, Result{Status: 200}))
	c.Advance(24*time.Hour - 1)
	claim, err := s.Begin(ctx, keyOf(1), printA)
	require.NoError(t, err)
	require.Equal(t, 200, claim.Result.Status, "a replay does not prolong it")
	c.Advance(1)
	acquire(t, s, keyOf(1))
}

func TestStoreCompleteAgain(t *testing.T) {
	s, _ := newStore(t, Config{})
	tok := acquire(t, s, keyOf(1))
	require.NoError(t, s.Complete(ctx, tok, Result{Status: 200}))
	require.NoError(t, s.Complete(ctx, tok, Result{Status: 500}))
	claim, err := s.Begin(ctx, keyOf(1), printA)
	require.NoError(t, err)
	require.Equal(t, 200, claim.Result.Status)
}

func TestStoreForeignTokens(t *testing.T) {
	s, _ := newStore(t, Config{})
	other, _ := newStore(t, Config{})
	mine, theirs := acquire(t, s, keyOf(1)), acquire(t, other, keyOf(1))
	require.Equal(t, mine.Fence(), theirs.Fence())
	for name, tok := range map[string]Token{
		"zero": {}, "another store's": theirs,
		"another key's": NewToken(keyOf(2), mine.Owner(), mine.Fence()),
		"an old one":    NewToken(keyOf(1), mine.Owner(), mine.Fence()-1),
	} {
		require.ErrorIs(t, s.Complete(ctx, tok, Result{}), ErrLost, name)
		require.ErrorIs(t, s.Release(ctx, tok), ErrLost, name)
		require.ErrorIs(t, s.Extend(ctx, tok), ErrLost, name)
	}
	require.NoError(t, s.Complete(ctx, mine, Result{}))
}

func TestStoreFullOfRecords(t *testing.T) {
	s, c := newStore(t, Config{MaxRecords: 100})
	for i := range 100 {
		tok := acquire(t, s, keyOf(i))
		if i%2 == 0 {
			require.NoError(t, s.Complete(ctx, tok, Result{Status: i}))
		}
	}
	for range 3 {
		_, err := s.Begin(ctx, keyOf(100), printA)
		require.ErrorIs(t, err, ErrFull)
	}
	for i := 0; i < 100; i += 2 {
		claim, err := s.Begin(ctx, keyOf(i), printA)
		require.NoError(t, err, "nothing was dropped")
		require.Equal(t, i, claim.Result.Status)
	}
	c.Advance(DefaultLease)
	_, err := s.Begin(ctx, keyOf(100), printA)
	require.ErrorIs(t, err, ErrFull, "late owners are waited for")
	acquire(t, s, keyOf(1)) // a record whose lease ran out is used again
	c.Advance(DefaultLease)
	for i := 101; i < 150; i++ {
		acquire(t, s, keyOf(i))
	}
	require.Equal(t, 100, s.Stats().Records)
	_, err = s.Begin(ctx, keyOf(151), printA)
	require.ErrorIs(t, err, ErrFull)
	require.EqualValues(t, 5, s.Stats().Full)
}

func TestStoreFullOfBytes(t *testing.T) {
	const each = RecordBytes + RoomyResult
	s, c := newStore(t, Config{MaxBytes: 2 * (4*each + 1000)}) // half of it for results that are large
	toks := []Token{acquire(t, s, keyOf(0)), acquire(t, s, keyOf(1)), acquire(t, s, keyOf(2)), acquire(t, s, keyOf(3))}
	big := Result{Status: 200, Body: make([]byte, RoomyResult+1000)}
	require.ErrorIs(t, s.Complete(ctx, toks[0], big), ErrFull)
	require.ErrorAs(t, second(s.Begin(ctx, keyOf(0), printA)), new(*InFlightError), "the key stays in flight")
	big.Body = big.Body[:1000]
	require.NoError(t, s.Complete(ctx, toks[0], big))
	require.ErrorIs(t, s.Complete(ctx, toks[1], big), ErrFull)
	small := Result{Status: 200, Body: make([]byte, RoomyResult-4)}
	for _, tok := range toks[1:] {
		require.NoError(t, s.Complete(ctx, tok, small), "what is roomy always fits")
	}
	for i := range 6 { // of 2 * (2048 + 1000), 2048 are taken by records and some 750 by the large result
		require.NoError(t, s.Complete(ctx, acquire(t, s, keyOf(10+i)), small), "large results leave room for small ones")
	}
	_, err := s.Begin(ctx, keyOf(4), printA)
	require.ErrorIs(t, err, ErrFull)

	c.Advance(DefaultTTL)
	tok := acquire(t, s, keyOf(5))
	require.NoError(t, s.Complete(ctx, tok, Result{Body: make([]byte, 4*each+1000-RecordBytes-10)}), "room is made for a result")
	require.Equal(t, 1, s.Stats().Records)
}

func second[A any](_ A, err error) error { return err }

func TestStoreContext(t *testing.T) {
	s, _ := newStore(t, Config{})
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err := s.Begin(gone, keyOf(1), printA)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, s.Stats().Records)
	require.NoError(t, s.Complete(gone, acquire(t, s, keyOf(1)), Result{}), "work that was done is kept")
	require.NoError(t, s.Release(gone, acquire(t, s, keyOf(2))))
}

func TestStoreConfig(t *testing.T) {
	s, err := NewStore(Config{})
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour, s.TTL())
	require.Equal(t, 30*time.Second, s.Lease())
	require.Equal(t, 100_000, s.Stats().MaxRecords)
	require.EqualValues(t, 128<<20, s.Stats().MaxBytes)

	_, err = NewStore(Config{TTL: -1, Lease: -time.Second, MaxRecords: -1, MaxBytes: 1<<50 + 1})
	for _, want := range []string{
		"idem: TTL = -1ns: must be positive, or 0 for 24h0m0s",
		"idem: Lease = -1s: must be positive, or 0 for 30s",
		"idem: MaxRecords = -1: must be 1 to 1073741824, or 0 for 100000",
		"idem: MaxBytes = 1125899906842625: must be 1 to 1125899906842624, or 0 for 134217728",
	} {
		require.ErrorContains(t, err, want)
	}
	var fault *ConfigError
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "TTL", fault.Field)

	m, err := NewMemory(MemoryConfig{})
	require.NoError(t, err)
	_, err = NewStore(Config{Backend: m, MaxRecords: 5, MaxBytes: 6})
	require.ErrorContains(t, err, "idem: MaxRecords = 5: must be 0 with a Backend")
	require.ErrorContains(t, err, "idem: MaxBytes = 6: must be 0 with a Backend")
}

func TestStoreStats(t *testing.T) {
	s, c := newStore(t, Config{MaxRecords: 2})
	a, b := acquire(t, s, keyOf(1)), acquire(t, s, keyOf(2))
	_, _ = s.Begin(ctx, keyOf(1), printA)
	_, _ = s.Begin(ctx, keyOf(1), printB)
	_, _ = s.Begin(ctx, keyOf(3), printA)
	require.NoError(t, s.Extend(ctx, a))
	require.NoError(t, s.Complete(ctx, a, Result{}))
	_, _ = s.Begin(ctx, keyOf(1), printA)
	require.NoError(t, s.Release(ctx, b))
	_ = s.Release(ctx, b)
	require.Equal(t, StoreStats{
		Acquired: 2, Replayed: 1, InFlight: 1, Mismatched: 1, Full: 1, Completed: 1, Released: 1, Extended: 1, Lost: 1,
		Records: 1, MaxRecords: 2, Bytes: RecordBytes + RoomyResult, MaxBytes: DefaultMaxBytes,
	}, s.Stats())
	require.Zero(t, s.Sweep())
	c.Advance(DefaultTTL)
	require.Equal(t, 1, s.Sweep())
	require.Zero(t, s.Stats().Records)
	require.Zero(t, s.Stats().Bytes)
}

// broken is a backend that cannot be asked, or answers nonsense.
type broken struct {
	Backend
	entry Entry
	err   error
}

func (b broken) Begin(context.Context, Key, Fingerprint, time.Duration) (Entry, error) {
	return b.entry, b.err
}

func TestStoreBrokenBackend(t *testing.T) {
	down := errors.New("down")
	for _, tt := range []struct {
		name string
		b    broken
		want string
	}{
		{"down", broken{err: down}, "down"},
		{"no state", broken{}, "answered Begin with state 0"},
		{"empty value", broken{entry: Entry{State: Done}}, "a stored result cannot be read"},
		{"other version", broken{entry: Entry{State: Done, Value: []byte{2, 0, 0}}}, "a stored result cannot be read"},
		{"cut value", broken{entry: Entry{State: Done, Value: []byte{1, 0, 5}}}, "a stored result cannot be read"},
	} {
		s, err := NewStore(Config{Backend: tt.b})
		require.NoError(t, err)
		c, err := s.Begin(ctx, keyOf(1), printA)
		require.ErrorContains(t, err, tt.want, tt.name)
		require.Zero(t, c)
		require.Equal(t, StoreStats{Failed: 1}, s.Stats())
		require.Zero(t, s.Sweep())
	}
	s, err := NewStore(Config{Backend: broken{entry: Entry{State: InFlight}}})
	require.NoError(t, err)
	var flying *InFlightError
	require.ErrorAs(t, second(s.Begin(ctx, keyOf(1), printA)), &flying)
	require.Positive(t, flying.RetryAfter, "never a wait of nothing")
}
