package redisync

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/idem/idemtest"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

const (
	idemLong   = time.Hour
	idemWithin = 20 * time.Second // for what must come about, on a busy machine
)

var (
	idemPrintA = idem.FingerprintOf("POST", "/orders", "", []byte("a"))
	idemPrintB = idem.FingerprintOf("POST", "/orders", "", []byte("b"))
)

func idemKey(n int) idem.Key { return idem.KeyOf("alice", "POST /orders", fmt.Sprint(n)) }

// newIdem makes an Idem on s, unless cfg says where.
func newIdem(t testing.TB, s *redistest.Server, cfg IdemConfig) *Idem {
	t.Helper()
	if cfg.URL == "" && cfg.Client == nil {
		cfg.URL = s.URL()
	}
	b, err := NewIdem(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func idemAcquire(t testing.TB, b *Idem, n int, lease time.Duration) idem.Token {
	t.Helper()
	e, err := b.Begin(context.Background(), idemKey(n), idemPrintA, lease)
	require.NoError(t, err)
	require.Equal(t, idem.Acquired, e.State)
	return e.Token
}

func idemFind(t testing.TB, b *Idem, n int, want idem.State) idem.Entry {
	t.Helper()
	e, err := b.Begin(context.Background(), idemKey(n), idemPrintA, idemLong)
	require.NoError(t, err)
	require.Equal(t, want, e.State)
	return e
}

// allExpire asserts that every key has a TTL, and returns how many there are.
func allExpire(t testing.TB, s *redistest.Server) int {
	t.Helper()
	const script = `
local bad, keys = {}, redis.call('KEYS', 'tickgate:*')
for _, key in ipairs(keys) do
  if redis.call('PTTL', key) < 0 then bad[#bad + 1] = key end
end
return {#keys, bad}`
	reply := s.Must("EVAL", script, "0").([]any)
	require.Empty(t, reply[1], "keys for ever")
	return int(reply[0].(int64))
}

// heldRedis is a Redis whose time the test moves: the script reads it from a key, and
// what it wrote is brought that much nearer to its end. The server's own time, by
// which it drops records, runs beside it.
type heldRedis struct {
	*testing.T
	server *redistest.Server
	client rueidis.Client
}

const (
	readTime   = "redis.call('TIME')"
	readHeld   = "{redis.call('HGET', 'held', 's') or 1000000000, redis.call('HGET', 'held', 'us') or 0}"
	moveScript = `
local span = tonumber(ARGV[1])
local was = tonumber(redis.call('HGET', 'held', 'us') or 0)
redis.call('DEL', 'held') -- which is allowed without memory, and what comes after it
redis.call('HSET', 'held', 'us', string.format('%.0f', was + span))
for _, key in ipairs(redis.call('KEYS', 'tickgate:*')) do
  local left = redis.call('PTTL', key) - span / 1000
  if left <= 0 then redis.call('DEL', key) else redis.call('PEXPIRE', key, string.format('%.0f', left)) end
end
return 1`
)

func holdTime(t *testing.T, s *redistest.Server) heldRedis {
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}, DisableCache: true})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return heldRedis{t, s, c}
}

// backend makes an Idem whose time is held.
func (h heldRedis) backend(cfg IdemConfig) *Idem {
	cfg.Timeout = idemWithin
	b := newIdem(h.T, h.server, cfg)
	source := strings.Replace(idemSource, readTime, readHeld, 1)
	require.NotEqual(h.T, idemSource, source)
	b.script = &idemScript{script: newScript(source)}
	return b
}

func (h heldRedis) advance(d time.Duration) {
	err := h.client.Do(context.Background(), h.client.B().Eval().Script(moveScript).Numkeys(0).
		Arg(strconv.FormatInt(d.Microseconds(), 10)).Build()).Error()
	if err != nil {
		h.Error(err)
	}
}

func TestIdemIsABackend(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	idemtest.Backend(t, func(t *testing.T) (idem.Backend, func(time.Duration)) {
		s.Must("FLUSHALL")
		t.Cleanup(func() { allExpire(t, s) })
		h := holdTime(t, s)
		return h.backend(IdemConfig{}), h.advance
	})
}

// Full is when the server's memory is.
func TestIdemIsBounded(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	idemtest.Bounds(t, func(t *testing.T) (idem.Backend, func(time.Duration)) {
		s.Must("CONFIG", "SET", "maxmemory", "0")
		s.Must("FLUSHALL")
		h := holdTime(t, s)
		b := h.backend(IdemConfig{MaxValue: 10_000})
		idemAcquire(t, b, -1, idemLong) // all that there is beside records is there now
		used, _ := strconv.Atoi(infoField(s.Text("INFO", "memory"), "used_memory"))
		s.Must("CONFIG", "SET", "maxmemory", strconv.Itoa(used+500_000))
		return b, h.advance
	}, 5000, 10_001)
}

// A clock that is set back gives no fence twice, while the key's record is there.
func TestIdemClockSetBack(t *testing.T) {
	h := holdTime(t, redistest.Start(t, redistest.Options{}))
	b := h.backend(IdemConfig{})
	first := idemAcquire(t, b, 1, idemLong)
	require.NoError(t, b.Release(t.Context(), first))
	h.advance(-time.Hour)
	second := idemAcquire(t, b, 1, idemLong)
	require.Greater(t, second.Fence(), first.Fence())
	require.ErrorIs(t, b.Complete(t.Context(), first, nil, idemLong), idem.ErrLost)
	require.NoError(t, b.Complete(t.Context(), second, nil, idemLong))
}

// By the server's own time, and no test waits for longer than it has to.
func TestIdemLeaseInRealTime(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	b, other := newIdem(t, s, IdemConfig{}), newIdem(t, s, IdemConfig{})
	const lease = 50 * time.Millisecond
	from := time.Now()
	first := idemAcquire(t, b, 1, lease)
	var e idem.Entry
	require.Eventually(t, func() bool {
		var err error
		e, err = other.Begin(t.Context(), idemKey(1), idemPrintA, idemLong)
		require.NoError(t, err)
		require.LessOrEqual(t, e.After, lease)
		return e.State == idem.Acquired
	}, idemWithin, time.Millisecond)
	require.GreaterOrEqual(t, time.Since(from), lease-time.Millisecond)
	require.Greater(t, e.Token.Fence(), first.Fence())
	require.ErrorIs(t, b.Complete(t.Context(), first, nil, idemLong), idem.ErrLost)
	require.NoError(t, other.Complete(t.Context(), e.Token, []byte("v"), lease))

	// Late, but nobody came.
	const second = 400 * time.Millisecond
	late := idemAcquire(t, b, 2, second)
	require.Eventually(t, func() bool {
		return s.Must("PTTL", b.key(idemKey(2))).(int64) < second.Milliseconds()
	}, idemWithin, time.Millisecond)
	require.NoError(t, b.Complete(t.Context(), late, []byte("late"), lease))

	require.NoError(t, b.Release(t.Context(), idemAcquire(t, b, 3, lease)))
	require.Eventually(t, func() bool { return allExpire(t, s) == 0 }, idemWithin, time.Millisecond)
}
