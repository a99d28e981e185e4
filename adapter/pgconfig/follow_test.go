package pgconfig

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// bubble runs a test in fake time with a source that follows a server.
func bubble(t *testing.T, c PostgresConfig, s *server, test func(t *testing.T, p *Postgres, changes *atomic.Int64, log *book)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := &book{}
		c.Log = log.logger()
		if c.Conn == nil {
			c.Conn = testConn(t)
		}
		require.NoError(t, c.check())
		s.began = time.Now()
		p := newPostgres(c, s.dial)
		ctx, cancel := context.WithCancel(t.Context())
		var changes atomic.Int64
		done := make(chan struct{})
		go func() {
			p.Run(ctx, func() { changes.Add(1) })
			close(done)
		}()
		synctest.Wait()
		test(t, p, &changes, log)
		cancel()
		<-done
		require.Empty(t, s.open, "every connection is closed")
	})
}

func rate(endpoint, tokens string) row {
	return good(endpoint, func(r *row) { r.rate, r.capacity = text(tokens), nil })
}

// after lets time go by in a bubble.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestListenComesBeforeTheFirstReading(t *testing.T) {
	s := newServer(rate("a", "1"))
	bubble(t, PostgresConfig{}, s, func(t *testing.T, p *Postgres, changes *atomic.Int64, _ *book) {
		require.Equal(t, []string{"dial 0s", "listen 0s", "load 0s", "listen 0s", "dial 0s"}, s.take(),
			"the last two are the probe, which waits for no time if it is heard")
		require.Equal(t, "1", p.Version())
		require.EqualValues(t, 1, changes.Load())
		st := p.Stats()
		require.True(t, st.Connected && st.Listening)
		require.EqualValues(t, 1, st.Connects)
	})
}

func TestNotificationsWithin50msAreOneReading(t *testing.T) {
	s := newServer(rate("a", "1"))
	bubble(t, PostgresConfig{}, s, func(t *testing.T, p *Postgres, changes *atomic.Int64, _ *book) {
		s.take()
		for range 1000 {
			s.set(rate("a", "2"))
		}
		after(49 * time.Millisecond)
		require.Zero(t, s.count("load"))
		after(time.Millisecond)
		require.Equal(t, 1, s.count("load"))
		require.Equal(t, "1001", p.Version())
		require.EqualValues(t, 2, changes.Load())
		require.EqualValues(t, 1001, p.Stats().Notifications, "the probe's too")
	})
}

// A stream of notifications that never ends must not put the reading off.
func TestStreamOfNotifications(t *testing.T) {
	s := newServer(rate("a", "1"))
	bubble(t, PostgresConfig{}, s, func(t *testing.T, _ *Postgres, _ *atomic.Int64, _ *book) {
		s.take()
		for range 100 { // one second
			s.notify(channel, table)
			after(10 * time.Millisecond)
		}
		require.InDelta(t, 18, s.count("load"), 3)
	})
}

func TestOnlyOurPayloadIsRead(t *testing.T) {
	s := newServer(rate("a", "1"))
	bubble(t, PostgresConfig{}, s, func(t *testing.T, _ *Postgres, _ *atomic.Int64, _ *book) {
		s.take()
		s.notify(channel, "feature_flags")
		after(time.Second)
		require.Zero(t, s.count("load"))
		for i, payload := range []string{"", "rate_limit_config", "public.rate_limit_config"} {
			s.notify(channel, payload)
			after(time.Second)
			require.Equal(t, i+1, s.count("load"), payload)
		}
	})
}

func TestPingAndResync(t *testing.T) {
	s := newServer(rate("a", "1"))
	bubble(t, PostgresConfig{}, s, func(t *testing.T, p *Postgres, _ *atomic.Int64, _ *book) {
		s.take()
		s.quietly(rate("a", "2"))
		after(30 * time.Second)
		require.Equal(t, []string{"ping 30s"}, s.take())
		require.Equal(t, "1", p.Version(), "nothing was heard")
		after(30 * time.Second)
		require.Equal(t, []string{"load 1m0s"}, s.take(), "a reading tests the connection too")
		require.Equal(t, "2", p.Version())
		after(10 * time.Minute)
		require.Equal(t, uint64(10), p.Stats().Reloads[Unchanged])
	})
}

// A server that hangs is given up at the ping.
func TestFrozenServer(t *testing.T) {
	s := newServer(rate("a", "1"))
	bubble(t, PostgresConfig{}, s, func(t *testing.T, p *Postgres, _ *atomic.Int64, _ *book) {
		s.change(func() { s.frozen = true })
		after(41 * time.Second)
		require.ErrorIs(t, p.LastError(), context.DeadlineExceeded)
		require.False(t, p.Stats().Listening)
		require.NotNil(t, p.Current())
		s.quietly(rate("a", "2"))
		s.change(func() { s.frozen = false })
		after(time.Minute)
		require.NoError(t, p.LastError())
		require.Equal(t, "2", p.Version())
	})
}

func TestChangeWhileDisconnectedIsSeen(t *testing.T) {
	s := newServer(rate("a", "1"))
	bubble(t, PostgresConfig{}, s, func(t *testing.T, p *Postgres, _ *atomic.Int64, _ *book) {
		s.kill()
		s.quietly(rate("a", "2"))
		after(200 * time.Millisecond)
		require.Equal(t, "2", p.Version())
		require.NoError(t, p.LastError())
		require.EqualValues(t, 2, p.Stats().Connects)
		require.EqualValues(t, 1, p.Stats().Reloads[Failed])
	})
}

func TestDelaysBetweenConnections(t *testing.T) {
	s := newServer(rate("a", "1"))
	s.refuse = errors.New("connection refused")
	bubble(t, PostgresConfig{}, s, func(t *testing.T, p *Postgres, _ *atomic.Int64, log *book) {
		after(10 * time.Minute)
		var before, shortest, longest time.Duration
		shortest = time.Hour
		calls := s.take()
		for i, call := range calls {
			at, err := time.ParseDuration(strings.TrimPrefix(call, "dial "))
			require.NoError(t, err)
			if i > 0 {
				shortest, longest = min(shortest, at-before), max(longest, at-before)
			}
			before = at
		}
		require.GreaterOrEqual(t, shortest, 100*time.Millisecond)
		require.LessOrEqual(t, longest, 30*time.Second)
		require.Greater(t, longest, 15*time.Second)
		require.Less(t, len(calls), 60)
		require.EqualValues(t, len(calls), p.Stats().Reloads[Failed])
		require.Equal(t, 1, log.count("connection refused"), "logged once, however often it was tried")

		s.change(func() { s.refuse = nil })
		after(30 * time.Second)
		require.NoError(t, p.LastError())
		after(30 * time.Second)
		s.take()
		s.kill()
		after(200 * time.Millisecond)
		require.Equal(t, 1, s.count("load"), "a connection that lived starts the delays anew")
	})
}

func TestBadRowsKeepTheLastGoodSet(t *testing.T) {
	s := newServer(rate("a", "1"))
	bubble(t, PostgresConfig{}, s, func(t *testing.T, p *Postgres, changes *atomic.Int64, log *book) {
		before := p.Current()
		s.set(rate("a", "2"), rate("b", "0"))
		after(time.Second)
		require.Equal(t, before, p.Current())
		require.Equal(t, "1", p.Version())
		require.EqualError(t, p.LastError(), `version 2: rate_limit_config["b"].refill_rate = 0: must be above zero`)
		require.EqualValues(t, 1, changes.Load())
		after(time.Hour)
		require.Equal(t, 1, log.count("level=ERROR"), "logged once as long as it lasts")
		require.Equal(t, uint64(61), p.Stats().Reloads[Rejected], "and counted whenever it is read")

		s.set() // emptied
		after(time.Second)
		require.Equal(t, before, p.Current())
		require.ErrorIs(t, p.LastError(), errEmpty)

		s.set(rate("a", "3"))
		after(time.Second)
		require.NoError(t, p.LastError())
		require.EqualValues(t, 3, p.Current()[0].Limits[0].Tokens)
	})
}

func TestEmptyTableWhereAllowed(t *testing.T) {
	s := newServer()
	bubble(t, PostgresConfig{AllowEmpty: true}, s, func(t *testing.T, p *Postgres, _ *atomic.Int64, _ *book) {
		require.NoError(t, p.LastError())
		require.NotNil(t, p.Current())
		require.Empty(t, p.Current())
	})
}

func TestTooManyRows(t *testing.T) {
	s := newServer(rate("a", "1"), rate("b", "1"))
	bubble(t, PostgresConfig{MaxRows: 2}, s, func(t *testing.T, p *Postgres, _ *atomic.Int64, _ *book) {
		require.NoError(t, p.LastError())
		s.set(rate("a", "1"), rate("b", "1"), rate("c", "1"))
		after(time.Second)
		require.EqualError(t, p.LastError(), "version 2: the table rate_limit_config has more than 2 rows: remove what is not used")
		require.Len(t, p.Current(), 2)
	})
}

// A fault of the server that leaves the connection alone is tried again after 5 s.
func TestMissingTable(t *testing.T) {
	s := newServer(rate("a", "1"))
	s.loadErr = &pgconn.PgError{Severity: "ERROR", Code: "42P01", Message: `relation "rate_limit_config" does not exist`}
	bubble(t, PostgresConfig{}, s, func(t *testing.T, p *Postgres, _ *atomic.Int64, _ *book) {
		require.ErrorContains(t, p.LastError(), `run "tickgate pg init"`)
		require.Nil(t, p.Current())
		s.change(func() { s.loadErr, s.noRow = nil, true })
		after(5 * time.Second)
		require.ErrorIs(t, p.LastError(), errNoVersion)
		s.change(func() { s.noRow = false })
		after(5 * time.Second)
		require.NoError(t, p.LastError())
		require.EqualValues(t, 1, p.Stats().Connects)
	})
}

func TestDeafConnectionIsFoundOut(t *testing.T) {
	s := newServer(rate("a", "1"))
	s.deaf = true
	bubble(t, PostgresConfig{}, s, func(t *testing.T, p *Postgres, _ *atomic.Int64, log *book) {
		require.Equal(t, "1", p.Version(), "read before it is known")
		after(2 * time.Second)
		require.False(t, p.Stats().Listening)
		require.Equal(t, 1, log.count("notifications do not arrive"))
		s.set(rate("a", "2"))
		after(time.Second)
		require.Equal(t, "2", p.Version())
		s.kill()
		after(time.Minute)
		require.Equal(t, 1, log.count("level=WARN"), "said once")
		require.Equal(t, 2, s.count("listen"), "and not listened again")
	})
}

// Only the probe's own notification proves anything: this one could have come back
// with an answer.
func TestProbeHearsOnlyItself(t *testing.T) {
	s := newServer(rate("a", "1"))
	s.noProbe = true
	bubble(t, PostgresConfig{}, s, func(t *testing.T, p *Postgres, _ *atomic.Int64, _ *book) {
		after(time.Second)
		s.set(rate("a", "2"))
		after(time.Second)
		require.False(t, p.Stats().Listening)
		require.EqualValues(t, 1, p.Stats().Notifications)
		after(time.Second)
		require.Equal(t, "2", p.Version())
	})
}

func TestChangeDuringTheProbe(t *testing.T) {
	s := newServer(rate("a", "1"))
	s.slow = time.Second
	bubble(t, PostgresConfig{}, s, func(t *testing.T, p *Postgres, _ *atomic.Int64, _ *book) {
		after(500 * time.Millisecond)
		s.set(rate("a", "2"))
		after(500 * time.Millisecond)
		require.True(t, p.Stats().Listening)
		require.Equal(t, "2", p.Version())
	})
}

// A server that has no room for a second connection is asked again at the next.
func TestProbeWithoutASecondConnection(t *testing.T) {
	s := newServer(rate("a", "1"))
	s.most = 1
	bubble(t, PostgresConfig{}, s, func(t *testing.T, p *Postgres, _ *atomic.Int64, log *book) {
		require.Equal(t, 1, log.count("not tested whether notifications arrive"))
		require.True(t, p.Stats().Listening)
		s.set(rate("a", "2"))
		after(time.Second)
		require.Equal(t, "2", p.Version())
	})
}

func TestRefusedListen(t *testing.T) {
	s := newServer(rate("a", "1"))
	s.noListen = &pgconn.PgError{Severity: "ERROR", Code: "25006", Message: "cannot execute LISTEN during recovery"}
	bubble(t, PostgresConfig{}, s, func(t *testing.T, p *Postgres, _ *atomic.Int64, log *book) {
		require.Equal(t, "1", p.Version())
		require.Equal(t, 1, log.count("cannot execute LISTEN during recovery"))
		s.set(rate("a", "2"))
		after(time.Second)
		require.Equal(t, "2", p.Version())
		require.EqualValues(t, 1, p.Stats().Connects)
	})
}

func TestPollOnly(t *testing.T) {
	s := newServer(rate("a", "1"))
	bubble(t, PostgresConfig{PollOnly: true}, s, func(t *testing.T, p *Postgres, _ *atomic.Int64, log *book) {
		after(10 * time.Second)
		require.Zero(t, s.count("listen"))
		require.Equal(t, 10, s.count("version"))
		require.Equal(t, 1, s.count("load"))
		s.set(rate("a", "0"))
		after(time.Second)
		require.Error(t, p.LastError())
		after(48 * time.Second)
		require.Equal(t, 2, s.count("load"), "a bad version is not read again and again")
		s.set(rate("a", "3"))
		after(time.Second)
		require.EqualValues(t, 3, p.Current()[0].Limits[0].Tokens)
		require.Zero(t, log.count("level=WARN"))
		s.change(func() { s.rows = []row{rate("a", "4")} }) // past the triggers
		after(time.Minute)
		require.EqualValues(t, 4, p.Current()[0].Limits[0].Tokens)
		s.kill()
		s.quietly(rate("a", "5"))
		after(2 * time.Second)
		require.EqualValues(t, 5, p.Current()[0].Limits[0].Tokens)
	})
}

// While the table cannot be read, its version is no reason to try more often.
func TestPollOnlyOfAMissingTable(t *testing.T) {
	s := newServer(rate("a", "1"))
	s.loadErr = &pgconn.PgError{Severity: "ERROR", Code: "42P01", Message: "missing"}
	bubble(t, PostgresConfig{PollOnly: true}, s, func(t *testing.T, _ *Postgres, _ *atomic.Int64, _ *book) {
		after(20 * time.Second)
		require.Equal(t, 5, s.count("load"))
	})
}

// Load while Run runs: both read in turn, and Run's callback is told.
func TestLoadBesideRun(t *testing.T) {
	s := newServer(rate("a", "1"))
	bubble(t, PostgresConfig{}, s, func(t *testing.T, p *Postgres, changes *atomic.Int64, _ *book) {
		s.quietly(rate("a", "2"))
		require.NoError(t, p.Load(t.Context()))
		require.EqualValues(t, 2, changes.Load())
		require.Equal(t, "2", p.Version())
	})
}

func TestPostgresConfigFaults(t *testing.T) {
	_, err := NewPostgres(PostgresConfig{Poll: time.Millisecond, Resync: -1, MaxRows: -1})
	require.EqualError(t, err, `Conn = "nil": is required: take what pgx.ParseConfig returns
Poll = 1ms: must be at least 10ms, or 0 for 1s
Resync = -1ns: must be at least 10ms, or 0 for 1m0s
MaxRows = -1: must be above zero, or 0 for 524288`)
}
