package idemtest

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/idem"
)

// Backend tests the behaviour of backends, each in a subtest of t with a backend of
// its own: a few thousand calls in all.
func Backend(t *testing.T, make Maker) {
	for _, tt := range []struct {
		name string
		run  func(r rig)
	}{
		{"Value", testValue}, {"InFlight", testInFlight}, {"Mismatch", testMismatch}, {"Release", testRelease},
		{"LeaseEnds", testLeaseEnds}, {"LateOwner", testLateOwner}, {"Extend", testExtend}, {"TTLEnds", testTTLEnds},
		{"CompleteAgain", testCompleteAgain}, {"ForeignTokens", testForeignTokens}, {"Context", testContext},
		{"FencesGrow", testFencesGrow}, {"FirstCalls", testFirstCalls}, {"Model", testModel}, {"Store", testStore},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, advance := make(t)
			tt.run(rig{Backend: b, t: t, advance: advance})
		})
	}
}

func testValue(r rig) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for n, value := range [][]byte{all, {}, {0}, []byte("\r\n$-1\r\n"), bytes.Repeat(all, 400)} {
		token := r.acquire(n)
		require.NoError(r.t, r.complete(token, string(value)))
		for range 2 {
			r.done(n, string(value))
		}
	}
	r.done(0, string(all))
}

func testInFlight(r rig) {
	r.acquire(1)
	r.inFlight(1, lease)
	r.advance(lease / 4)
	r.inFlight(1, lease*3/4)
	r.acquire(2)
}

func testMismatch(r rig) {
	token := r.acquire(1)
	require.Equal(r.t, idem.Entry{State: idem.Mismatch}, r.begin(1, printB), "in flight")
	require.NoError(r.t, r.complete(token, ""))
	require.Equal(r.t, idem.Entry{State: idem.Mismatch}, r.begin(1, printB), "done")

	r.advance(ttl + Grain)
	require.Equal(r.t, idem.Acquired, r.begin(1, printB).State, "forgotten, the key is anybody's")
	require.Equal(r.t, idem.Entry{State: idem.Mismatch}, r.begin(1, printA))

	token = r.acquire(2)
	require.NoError(r.t, r.Release(ctx, token))
	require.Equal(r.t, idem.Acquired, r.begin(2, printB).State, "released, too")
}

func testRelease(r rig) {
	first := r.acquire(1)
	require.NoError(r.t, r.Release(ctx, first))
	r.lost(first, "released")
	second := r.acquire(1)
	r.lost(first, "the first holder does not free the second's key")
	require.NoError(r.t, r.complete(second, "v"))
	require.ErrorIs(r.t, r.Release(ctx, second), idem.ErrLost, "a result is not released")
	r.done(1, "v")
}

func testLeaseEnds(r rig) {
	first := r.acquire(1)
	r.advance(lease - Grain)
	r.inFlight(1, Grain)
	r.advance(2 * Grain)
	second := r.acquire(1)
	r.inFlight(1, lease)
	require.Greater(r.t, second.Fence(), first.Fence())
	require.NotEqual(r.t, first, second)
	r.lost(first, "another has the key")
	require.NoError(r.t, r.complete(second, "second"))
	r.lost(first, "another completed the key")
	r.done(1, "second")
}

// An owner who is late loses nothing while nobody asked for its key, for one lease
// more.
func testLateOwner(r rig) {
	late, later, extended, released := r.acquire(1), r.acquire(2), r.acquire(3), r.acquire(4)
	r.advance(2*lease - Grain)
	require.NoError(r.t, r.Extend(ctx, extended, lease))
	require.NoError(r.t, r.complete(late, "late"))
	require.NoError(r.t, r.Release(ctx, released))
	r.done(1, "late")
	r.advance(2 * Grain)
	r.lost(later, "its record was dropped")
	r.inFlight(3, lease-2*Grain)
	r.lost(released, "it was released")
}

func testExtend(r rig) {
	token := r.acquire(1)
	for range 5 {
		r.advance(lease * 9 / 10)
		r.inFlight(1, lease/10)
		require.NoError(r.t, r.Extend(ctx, token, lease))
		r.inFlight(1, lease)
	}
	require.NoError(r.t, r.Extend(ctx, token, 5*lease))
	r.inFlight(1, 5*lease)
	require.NoError(r.t, r.Extend(ctx, token, lease))
	r.inFlight(1, lease)
	require.NoError(r.t, r.complete(token, "v"))
	require.ErrorIs(r.t, r.Extend(ctx, token, lease), idem.ErrLost)
	r.done(1, "v")
}

func testTTLEnds(r rig) {
	token := r.acquire(1)
	r.advance(lease / 2) // the TTL counts from Complete
	require.NoError(r.t, r.complete(token, "v"))
	r.advance(ttl - Grain)
	r.done(1, "v") // which does not prolong it
	r.advance(2 * Grain)
	require.ErrorIs(r.t, r.complete(token, "w"), idem.ErrLost)
	again := r.acquire(1)
	require.Greater(r.t, again.Fence(), token.Fence())
	r.lost(token, "over")
}

func testCompleteAgain(r rig) {
	token := r.acquire(1)
	require.NoError(r.t, r.complete(token, "first"))
	require.NoError(r.t, r.complete(token, "again"))
	r.advance(ttl / 2)
	require.NoError(r.t, r.complete(token, "again"))
	r.done(1, "first")
	r.advance(ttl/2 + Grain) // the last one did not prolong it
	r.acquire(1)
}

func testForeignTokens(r rig) {
	mine := r.acquire(1)
	r.acquire(2)
	for name, token := range map[string]idem.Token{
		"zero":                {},
		"another owner's":     idem.NewToken(keyOf(1), mine.Owner()+1, mine.Fence()),
		"another key's":       idem.NewToken(keyOf(2), mine.Owner(), mine.Fence()),
		"a key's not held":    idem.NewToken(keyOf(3), mine.Owner(), mine.Fence()),
		"an old one":          idem.NewToken(keyOf(1), mine.Owner(), mine.Fence()-1),
		"one not given yet":   idem.NewToken(keyOf(1), mine.Owner(), mine.Fence()+1),
		"the largest that is": idem.NewToken(keyOf(1), 1<<64-1, 1<<64-1),
	} {
		r.lost(token, name)
	}
	require.NoError(r.t, r.complete(mine, "v"))
}

func testContext(r rig) {
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err := r.Begin(gone, keyOf(1), printA, lease)
	require.ErrorIs(r.t, err, context.Canceled)
	token := r.acquire(1)
	require.NoError(r.t, r.Complete(gone, token, []byte("v"), ttl), "work that was done is kept")
	r.done(1, "v")
	require.NoError(r.t, r.Release(gone, r.acquire(2)))
	r.acquire(2)
}

// Whatever became of the last owner, and however short ago.
func testFencesGrow(r rig) {
	seen, last := map[idem.Token]bool{}, uint64(0)
	for i := range 40 {
		token := r.acquire(1)
		require.Greater(r.t, token.Fence(), last, "turn %d", i)
		require.False(r.t, seen[token])
		last, seen[token] = token.Fence(), true
		switch i % 4 {
		case 0:
			require.NoError(r.t, r.Release(ctx, token))
		case 1:
			r.advance(lease + Grain)
		case 2:
			r.advance(2*lease + Grain)
		case 3:
			require.NoError(r.t, r.complete(token, "v"))
			r.advance(ttl + Grain)
		}
	}
}

// Of any number of calls for a free key exactly one acquires it.
func testFirstCalls(r rig) {
	for n := range 20 {
		var acquired, inFlight atomic.Int32
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				<-start
				switch e, _ := r.Begin(ctx, keyOf(n), printA, lease); e.State {
				case idem.Acquired:
					acquired.Add(1)
				case idem.InFlight:
					inFlight.Add(1)
				}
			})
		}
		close(start)
		wg.Wait()
		require.EqualValues(r.t, 1, acquired.Load())
		require.EqualValues(r.t, 63, inFlight.Load())
	}
}

// A Store over the backend.
func testStore(r rig) {
	s, err := idem.NewStore(idem.Config{Backend: r.Backend, Lease: lease, TTL: ttl})
	require.NoError(r.t, err)
	want := idem.Result{Status: 202, Header: [][2]string{{"Content-Type", "text/plain"}, {"Link", ""}}, Body: []byte("job 7")}
	claim, err := s.Begin(ctx, keyOf(1), printA)
	require.NoError(r.t, err)
	require.True(r.t, claim.Acquired)
	var flying *idem.InFlightError
	_, err = s.Begin(ctx, keyOf(1), printA)
	require.ErrorAs(r.t, err, &flying)
	require.NoError(r.t, s.Extend(ctx, claim.Token))
	require.NoError(r.t, s.Complete(ctx, claim.Token, want))
	require.ErrorIs(r.t, s.Release(ctx, claim.Token), idem.ErrLost)
	for range 3 {
		claim, err := s.Begin(ctx, keyOf(1), printA)
		require.NoError(r.t, err)
		require.Equal(r.t, idem.Claim{Result: want}, claim)
		claim.Result.Body[0], claim.Result.Header[0][1] = 'Y', "Y" // it is the caller's own
	}
	_, err = s.Begin(ctx, keyOf(1), printB)
	require.ErrorIs(r.t, err, idem.ErrMismatch)
	st := s.Stats()
	require.EqualValues(r.t, 3, st.Replayed)
	require.EqualValues(r.t, 1, st.Completed)
}
