package redisync

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// What is in Redis tells nothing of who asked, nor of the key that a client chose.
func TestIdemKeysTellNothing(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	b := newIdem(t, s, IdemConfig{})
	const apikey, chosen = "sk-live-0123456789", "order-42"
	e, err := b.Begin(t.Context(), idem.KeyOf(apikey, "POST /orders", chosen), idemPrintA, idemLong)
	require.NoError(t, err)
	require.NoError(t, b.Complete(t.Context(), e.Token, []byte("v"), idemLong))
	keys := s.Keys()
	require.Len(t, keys, 1)
	require.Regexp(t, `^tickgate:idem:[0-9a-f]{64}$`, keys[0])
	for _, text := range append(keys, s.Text("GET", keys[0])) {
		require.NotContains(t, text, apikey)
		require.NotContains(t, text, chosen)
	}
}

// The rights that a user of Redis needs for this alone.
func TestIdemUserWithFewRights(t *testing.T) {
	const rights = "~tickgate:idem:* +evalsha +eval +getrange +set +del +pttl +time"
	s := redistest.Start(t, redistest.Options{Password: "secret", ACL: []string{
		"user app on >other " + rights + " +info", "user less on >other " + rights,
	}})
	for _, user := range []string{"app", "less"} {
		s.Must("FLUSHALL")
		var log strings.Builder
		b := newIdem(t, s, IdemConfig{
			URL: "redis://" + user + ":other@" + s.Addr(),
			Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		require.Equal(t, user == "less", strings.Contains(log.String(), "cannot see whether this Redis drops keys"), log.String())
		token := idemAcquire(t, b, 1, idemLong)
		require.NoError(t, b.Extend(t.Context(), token, idemLong))
		require.NoError(t, b.Complete(t.Context(), token, []byte("v"), idemLong))
		require.NoError(t, b.Release(t.Context(), idemAcquire(t, b, 2, idemLong)))
		require.True(t, b.sendUndo(t.Context(), idemKey(3), 1, idemLong))
	}
}

func TestIdemValueTooLarge(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	b := newIdem(t, s, IdemConfig{MaxValue: 1000})
	token := idemAcquire(t, b, 1, idemLong)
	err := b.Complete(t.Context(), token, make([]byte, 1001), idemLong)
	require.ErrorIs(t, err, idem.ErrFull)
	require.EqualError(t, err, "redisync: a result of 1001 bytes; MaxValue is 1000")
	require.NoError(t, b.Complete(t.Context(), token, make([]byte, 1000), idemLong))
}

func TestIdemForeignKeys(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	b := newIdem(t, s, IdemConfig{Prefix: "p"})
	s.Must("LPUSH", "p:"+idemKey(0).String(), "hello")
	_, err := b.Begin(t.Context(), idemKey(0), idemPrintA, idemLong)
	require.ErrorIs(t, err, ErrRefused)
	require.ErrorContains(t, err, "WRONGTYPE")
	require.NotErrorIs(t, err, ErrUnknown)
	digits, rest := strings.Repeat("1", 16), strings.Repeat("x", 48)
	for i, value := range []string{
		"hello", "1f", strings.Repeat("2", 200), strings.Repeat("1", 200),
		"2f" + digits + digits + rest, "1x" + digits + digits + rest,
		"1fxxxxxxxxxxxxxxxx" + digits + rest, "1f" + digits + "xxxxxxxxxxxxxxxx" + rest, "1f" + digits + digits + rest[1:],
	} {
		s.Must("SET", "p:"+idemKey(1+i).String(), value)
		_, err := b.Begin(t.Context(), idemKey(1+i), idemPrintA, idemLong)
		require.ErrorContains(t, err, "is not an idempotency record of this version; use another Prefix", value)
		require.NotErrorIs(t, err, ErrUnknown)
		require.Equal(t, value, s.Text("GET", "p:"+idemKey(1+i).String()), "it is left alone")
	}
	require.Zero(t, b.Stats().Retried)
}

func TestIdemConfig(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}, DisableCache: true})
	require.NoError(t, err)
	defer c.Close()
	_, err = NewIdem(t.Context(), IdemConfig{Prefix: strings.Repeat("{", 300), Timeout: -1, MaxValue: 1 << 30})
	for _, want := range []string{
		"redisync: IdemConfig needs one of URL and Client",
		"redisync: Prefix of 300 bytes: must be up to 200",
		"must be without braces",
		"redisync: Timeout = -1ns: must be 1ms to 1m0s, or 0 for 1s",
		"redisync: MaxValue = 1073741824: must be 1 to 67108864, or 0 for 1048576",
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = NewIdem(t.Context(), IdemConfig{URL: s.URL(), Client: c})
	require.ErrorContains(t, err, "one of URL and Client")

	shared, err := NewIdem(t.Context(), IdemConfig{Client: c})
	require.NoError(t, err)
	idemAcquire(t, shared, 1, idemLong)
	require.NoError(t, shared.Close())
	require.NoError(t, c.Do(t.Context(), c.B().Ping().Build()).Error(), "a client that was given is left open")

	s.Kill()
	from := time.Now()
	_, err = NewIdem(t.Context(), IdemConfig{URL: s.URL()})
	require.Error(t, err)
	require.Less(t, time.Since(from), idemWithin)
}

// A Redis that may drop records is refused, unless that is known.
func TestIdemEviction(t *testing.T) {
	s := redistest.Start(t, redistest.Options{Config: []string{"maxmemory-policy volatile-lru"}})
	newIdem(t, s, IdemConfig{}) // without maxmemory nothing is dropped
	s.Must("CONFIG", "SET", "maxmemory", "100mb")
	_, err := NewIdem(t.Context(), IdemConfig{URL: s.URL()})
	require.ErrorContains(t, err, "has maxmemory-policy volatile-lru, so it may drop idempotency records")
	idemAcquire(t, newIdem(t, s, IdemConfig{AllowEviction: true}), 1, idemLong)
	s.Must("CONFIG", "SET", "maxmemory-policy", "noeviction")
	idemFind(t, newIdem(t, s, IdemConfig{}), 1, idem.InFlight)
}

func TestIdemClosed(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	b, err := NewIdem(t.Context(), IdemConfig{URL: s.URL()})
	require.NoError(t, err)
	s.Freeze()
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = b.Begin(short, idemKey(1), idemPrintA, idemLong)
	require.ErrorIs(t, err, ErrUnknown)
	from := time.Now()
	require.NoError(t, b.Close(), "with something to undo, and nobody there")
	require.Less(t, time.Since(from), idemWithin/2)
	_, err = b.Begin(t.Context(), idemKey(1), idemPrintA, idemLong)
	require.EqualError(t, err, "redisync: the Idem is closed")
}
