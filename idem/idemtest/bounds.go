package idemtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/idem"
)

// Bounds tests what a backend does when it is full. The maker's backends have room
// for fewer records than most, and none for a value of tooLarge bytes.
//
// It need not be full at one certain number, nor stay full: a server's memory holds
// other things as well. But whatever was acquired or completed is still there, and
// its owner can still end its turn with a small result.
func Bounds(t *testing.T, make Maker, most, tooLarge int) {
	t.Run("Records", func(t *testing.T) {
		b, advance := make(t)
		testFull(rig{Backend: b, t: t, advance: advance}, most)
	})
	t.Run("Value", func(t *testing.T) {
		b, advance := make(t)
		testTooLarge(rig{Backend: b, t: t, advance: advance}, tooLarge)
	})
}

// fill acquires keys from first on until there is no room, and completes each
// third. It returns the tokens.
func (r rig) fill(first, most int) (tokens []idem.Token) {
	r.t.Helper()
	for n := range most {
		e, err := r.Begin(ctx, keyOf(first+n), printA, lease)
		if errors.Is(err, idem.ErrFull) {
			require.Zero(r.t, e)
			return tokens
		}
		require.NoError(r.t, err)
		require.Equal(r.t, idem.Acquired, e.State)
		if tokens = append(tokens, e.Token); n%3 == 0 {
			require.NoError(r.t, r.complete(e.Token, fmt.Sprint(n)))
		}
	}
	require.Fail(r.t, "never full", "%d records", most)
	return nil
}

func testFull(r rig, most int) {
	tokens := r.fill(0, most)
	require.Greater(r.t, len(tokens), 12, "too little room for this test")
	for n, token := range tokens {
		if n%3 == 0 {
			r.done(n, fmt.Sprint(n))
			continue
		}
		r.inFlight(n, lease)
		require.Equal(r.t, idem.Mismatch, r.begin(n, printB).State)
		require.NoError(r.t, r.Extend(ctx, token, lease))
		if n%3 == 1 {
			require.NoError(r.t, r.complete(token, "late"), "what is small fits")
			r.done(n, "late")
		}
	}
	require.NoError(r.t, r.Release(ctx, tokens[2]))
	r.acquire(2)
	r.advance(ttl + 2*lease + Grain)
	again := r.fill(len(tokens), most)
	require.Greater(r.t, len(again), len(tokens)/2, "the room did not come back")
}

func testTooLarge(r rig, tooLarge int) {
	token := r.acquire(1)
	for range 2 {
		require.ErrorIs(r.t, r.Complete(ctx, token, make([]byte, tooLarge), ttl), idem.ErrFull)
		r.inFlight(1, lease)
	}
	require.NoError(r.t, r.Extend(ctx, token, lease))
	require.NoError(r.t, r.complete(token, "it was too large"))
	r.done(1, "it was too large")
}
