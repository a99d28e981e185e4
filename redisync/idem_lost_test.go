package redisync

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

const idemPoll = 2 * time.Millisecond

// idemDeaf is a connection whose next answers are lost, after the server executed
// what they answer.
type idemDeaf struct {
	net.Conn
	lose *atomic.Int32
}

func (d idemDeaf) Read(p []byte) (int, error) {
	n, err := d.Conn.Read(p)
	if err != nil || d.lose.Load() <= 0 {
		return n, err
	}
	d.lose.Add(-1)
	_ = d.Conn.Close()
	return 0, io.ErrUnexpectedEOF
}

func deafIdem(t *testing.T, s *redistest.Server, timeout time.Duration) (*Idem, *atomic.Int32) {
	lose := new(atomic.Int32)
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.Addr()}, DisableCache: true, DisableRetry: true, AlwaysRESP2: true, PipelineMultiplex: -1,
		DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			conn, err := d.DialContext(ctx, "tcp", addr)
			return idemDeaf{conn, lose}, err
		},
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return newIdem(t, s, IdemConfig{Client: c, Timeout: timeout}), lose
}

func TestIdemAnswerLost(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	b, lose := deafIdem(t, s, idemWithin)
	other := newIdem(t, s, IdemConfig{})
	retried := uint64(0)
	lost := func() {
		lose.Store(1)
		retried++
	}
	lost()
	token := idemAcquire(t, b, 1, idemLong)
	require.Equal(t, retried, b.Stats().Retried)
	idemFind(t, other, 1, idem.InFlight)
	lost()
	require.NoError(t, b.Extend(t.Context(), token, 2*idemLong))
	require.Greater(t, idemFind(t, other, 1, idem.InFlight).After, idemLong)
	lost()
	require.NoError(t, b.Complete(t.Context(), token, []byte("v"), idemLong))
	require.Equal(t, "v", string(idemFind(t, other, 1, idem.Done).Value))
	lost()
	idemFind(t, b, 1, idem.Done)
	require.Eventually(t, func() bool { return b.Stats().Undone == 1 }, idemWithin, idemPoll,
		"the first attempt of a Begin that acquired nothing may come yet")
	idemFind(t, other, 1, idem.Done)
	token = idemAcquire(t, b, 2, idemLong)
	lost()
	require.NoError(t, b.Release(t.Context(), token), "it was released, though by an attempt that was not heard of")
	require.ErrorIs(t, b.Release(t.Context(), token), idem.ErrLost)
	lost()
	require.ErrorIs(t, b.Release(t.Context(), idem.Token{}), idem.ErrLost)
	require.Equal(t, retried, b.Stats().Retried)
	require.Zero(t, b.Stats().Unknown)
}

// A caller that gave up is not shut out of its own key for a lease, and nobody else.
func TestIdemBeginGivenUp(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	b, lose := deafIdem(t, s, 0)
	other := newIdem(t, s, IdemConfig{})
	giveUp := func(n int) {
		lose.Store(1 << 30)
		short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := b.Begin(short, idemKey(n), idemPrintA, idemLong)
		require.ErrorIs(t, err, ErrUnknown)
		require.Eventually(t, func() bool {
			return s.Must("EXISTS", b.key(idemKey(n))).(int64) == 1
		}, idemWithin, idemPoll, "it was executed")
		idemFind(t, other, n, idem.InFlight)
		lose.Store(0)
	}
	for n := range 5 {
		giveUp(n)
		token := idemAcquire(t, b, n, idemLong) // at once
		require.NoError(t, b.Complete(t.Context(), token, nil, idemLong), "undoing does not touch the next owner")
	}
	giveUp(10)
	require.Eventually(t, func() bool {
		e, err := other.Begin(t.Context(), idemKey(10), idemPrintB, idemLong)
		return err == nil && e.State == idem.Acquired
	}, idemWithin, idemPoll, "another process, and another request")
	require.Eventually(t, func() bool { return b.Stats().Undoing == 0 }, idemWithin, idemPoll)
	st := b.Stats()
	require.EqualValues(t, 6, st.Undone)
	require.Zero(t, st.Kept)
}

// An attempt may come when the call it belongs to is over.
func TestIdemAttemptsOutOfOrder(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	b := newIdem(t, s, IdemConfig{})
	begin := func(n int, owner uint64) (code int64, fence int64) {
		r, err := b.call(t.Context(), "Begin", idemKey(n), []string{"b", hex64(owner), micros(idemLong), string(idemPrintA[:]), ""})
		require.NoError(t, err)
		return r.code, r.number
	}
	code, fence := begin(1, 7)
	require.EqualValues(t, codeAcquired, code)
	code, again := begin(1, 7)
	require.EqualValues(t, codeAcquired, code)
	require.Equal(t, fence, again, "one turn, one fence")
	token := idem.NewToken(idemKey(1), 7, uint64(fence))
	require.NoError(t, b.Release(t.Context(), token))
	code, _ = begin(1, 7)
	require.EqualValues(t, codeUndone, code, "after Release")
	require.ErrorIs(t, b.Complete(t.Context(), token, nil, idemLong), idem.ErrLost, "after Release")

	require.True(t, b.sendUndo(t.Context(), idemKey(2), 8, idemLong))
	code, _ = begin(2, 8)
	require.EqualValues(t, codeUndone, code, "undone before it came")
	idemAcquire(t, b, 2, idemLong)

	code, fence = begin(3, 9)
	require.EqualValues(t, codeAcquired, code)
	require.NoError(t, b.Complete(t.Context(), idem.NewToken(idemKey(3), 9, uint64(fence)), []byte("v"), idemLong))
	code, _ = begin(3, 9)
	require.EqualValues(t, codeDone, code, "after Complete")
	require.True(t, b.sendUndo(t.Context(), idemKey(3), 9, idemLong))
	idemFind(t, b, 3, idem.Done)

	idemAcquire(t, b, 4, idemLong)
	require.True(t, b.sendUndo(t.Context(), idemKey(4), 10, idemLong))
	idemFind(t, b, 4, idem.InFlight)
	allExpire(t, s)
}

// The script is loaded by a call that finds it missing, and the call is executed
// once.
func TestIdemScriptFlushed(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	b := newIdem(t, s, IdemConfig{})
	for n := range 5 {
		s.Must("SCRIPT", "FLUSH")
		token := idemAcquire(t, b, n, idemLong)
		s.Must("SCRIPT", "FLUSH")
		require.NoError(t, b.Complete(t.Context(), token, []byte("v"), idemLong))
	}
	require.GreaterOrEqual(t, b.Stats().Loaded, uint64(10))
	require.Zero(t, b.Stats().Retried)
}
