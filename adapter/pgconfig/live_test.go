package pgconfig

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

const (
	submit = "trading.submit_order"
	update = "UPDATE rate_limit_config SET capacity = 200, refill_rate = 200 WHERE endpoint = 'trading.submit_order'"
	killer = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tickgate'"
)

func TestUpdateChangesARunningGateWithinASecond(t *testing.T) {
	srv, conn := database(t)
	r := newRig(t, PostgresConfig{Conn: configOf(t, srv.URL())}, Sources{})
	require.EqualValues(t, 100, r.tokens(submit))
	require.Empty(t, r.audited(), "the gate was made of what was loaded")
	r.listening(t)

	began := time.Now()
	exec(t, conn, update)
	exec(t, conn, "NOTIFY config_updates, 'rate_limit_config'")
	r.await(t, "the limit is 200", func() bool { return r.tokens(submit) == 200 })
	require.Less(t, time.Since(began), time.Second)
	t.Logf("in force after %v", time.Since(began))

	allowed := 0
	for range 300 {
		if r.gate.Allow("desk-7", submit) {
			allowed++
		}
	}
	require.GreaterOrEqual(t, allowed, 200)
	require.Less(t, allowed, 250)
	require.Equal(t, "postgresql@"+r.pg.Version(), r.audited()[0].Who)
	require.Equal(t, "postgres", value[string](t, conn, "SELECT changed_by FROM rate_limit_config_version"))
	require.Equal(t, "postgresql", r.stack.Origins()[submit])

	began = time.Now() // the trigger alone is enough
	exec(t, conn, "DELETE FROM rate_limit_config WHERE endpoint = 'trading.submit_order'")
	r.await(t, "the defaults answer", func() bool { return r.stack.Origins()[submit] == "defaults" })
	require.Less(t, time.Since(began), time.Second)
	require.EqualValues(t, 100, r.tokens(submit))
	require.EqualValues(t, 1, r.pg.Stats().Connects, "a wait that ends without a notification keeps the connection")
}

func TestListenerKilledAndAChangeMeanwhile(t *testing.T) {
	srv, conn := database(t)
	config := configOf(t, srv.URL())
	dial, hold := config.DialFunc, make(chan chan struct{}, 1)
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		select {
		case release := <-hold:
			<-release
		default:
		}
		return dial(ctx, network, addr)
	}
	r := newRig(t, PostgresConfig{Conn: config}, Sources{})
	r.listening(t)

	release := make(chan struct{})
	hold <- release
	exec(t, conn, killer)
	r.await(t, "the loss is noticed", func() bool { return r.pg.LastError() != nil })
	require.False(t, r.pg.Stats().Connected)
	exec(t, conn, update)
	require.EqualValues(t, 100, r.tokens(submit), "the last good set")
	close(release)
	r.await(t, "the change is seen", func() bool { return r.tokens(submit) == 200 })
	require.NoError(t, r.stack.LastError())
	require.EqualValues(t, 2, r.pg.Stats().Connects)
}

func TestServerRestart(t *testing.T) {
	srv, _ := database(t)
	r := newRig(t, PostgresConfig{Conn: configOf(t, srv.URL())}, Sources{})
	for _, end := range []func(){srv.Kill, srv.Stop} {
		r.listening(t)
		end()
		r.await(t, "the loss is noticed", func() bool { return r.pg.LastError() != nil })
		require.Len(t, r.gate.Policies(), 4)
		srv.Restart()
		conn := connect(t, srv.URL())
		exec(t, conn, "UPDATE rate_limit_config SET refill_rate = refill_rate + 1, capacity = capacity + 1")
		want := value[int64](t, conn, "SELECT refill_rate FROM rate_limit_config WHERE endpoint = 'trading.submit_order'")
		r.await(t, "the change is seen", func() bool { return r.tokens(submit) == want })
		require.NoError(t, r.stack.LastError())
	}
}

func TestBadRowKeepsTheLastGoodSet(t *testing.T) {
	srv, conn := database(t)
	r := newRig(t, PostgresConfig{Conn: configOf(t, srv.URL())}, Sources{})
	r.listening(t)
	before := r.gate.Policies()

	_, err := conn.Exec(context.Background(), "UPDATE rate_limit_config SET refill_rate = -1")
	require.ErrorContains(t, err, `violates check constraint "rate_limit_config_`)
	exec(t, conn, "ALTER TABLE rate_limit_config DROP CONSTRAINT rate_limit_config_refill_rate, DROP CONSTRAINT rate_limit_config_capacity, DROP CONSTRAINT rate_limit_config_one_a_day_to_2e9_a_second")
	exec(t, conn, "UPDATE rate_limit_config SET refill_rate = -1 WHERE endpoint = 'default'; UPDATE rate_limit_config SET refill_rate = 7 WHERE endpoint = 'config.update'")
	r.await(t, "it is rejected", func() bool { return r.pg.Stats().Reloads[Rejected] > 0 })
	require.ErrorContains(t, r.stack.LastError(), `postgresql: version `)
	require.ErrorContains(t, r.stack.LastError(), `rate_limit_config["default"].refill_rate = -1: must be above zero`)
	require.Equal(t, before, r.gate.Policies(), "nothing of it, not even the good row")
	require.Equal(t, 1, r.log.count("level=ERROR"))
	require.Empty(t, r.audited())

	exec(t, conn, "UPDATE rate_limit_config SET refill_rate = 50 WHERE endpoint = 'default'")
	r.await(t, "it is mended", func() bool { return r.tokens("config.update") == 7 })
	require.NoError(t, r.stack.LastError())
}

func TestEmptiedTable(t *testing.T) {
	srv, conn := database(t)
	r := newRig(t, PostgresConfig{Conn: configOf(t, srv.URL())}, Sources{Defaults: policy.MemoryAPI()})
	r.listening(t)
	exec(t, conn, "TRUNCATE rate_limit_config")
	r.await(t, "it is refused", func() bool { return r.pg.LastError() != nil })
	require.ErrorIs(t, r.pg.LastError(), errEmpty)
	require.EqualValues(t, 100, r.tokens(submit))

	allowed := newRig(t, PostgresConfig{Conn: configOf(t, srv.URL()), AllowEmpty: true}, Sources{Defaults: policy.MemoryAPI()})
	require.Equal(t, policy.MemoryAPI(), allowed.gate.Policies())
}

func TestPollOnlyServer(t *testing.T) {
	srv, conn := database(t)
	r := newRig(t, PostgresConfig{Conn: configOf(t, srv.URL()), PollOnly: true, Poll: 20 * time.Millisecond}, Sources{})
	began := time.Now()
	exec(t, conn, update)
	r.await(t, "the limit is 200", func() bool { return r.tokens(submit) == 200 })
	require.Less(t, time.Since(began), time.Second)
	require.False(t, r.pg.Stats().Listening)
	require.Zero(t, r.pg.Stats().Notifications)
	require.Zero(t, value[int](t, conn, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"))
}

// A proxy that drops notifications, as a pooler in transaction mode does.
func TestNotificationsDoNotArrive(t *testing.T) {
	srv, conn := database(t)
	config := configOf(t, srv.URL())
	config.DialFunc = withoutNotifications(config.DialFunc)
	r := newRig(t, PostgresConfig{Conn: config, Poll: 20 * time.Millisecond}, Sources{})
	r.await(t, "it is found out", func() bool { return r.log.count("notifications do not arrive") == 1 })
	exec(t, conn, update)
	r.await(t, "the limit is 200", func() bool { return r.tokens(submit) == 200 })
	require.False(t, r.pg.Stats().Listening)
}

func TestServerDownAtStart(t *testing.T) {
	srv, _ := database(t)
	srv.Kill()
	pg, err := NewPostgres(PostgresConfig{Conn: configOf(t, srv.URL()), Log: quiet(t)})
	require.NoError(t, err)
	stack, err := Compose(Sources{PostgreSQL: pg, Log: quiet(t)})
	require.NoError(t, err)
	_, err = stack.Load(context.Background())
	require.ErrorContains(t, err, "postgresql: failed to connect")

	r := newRig(t, PostgresConfig{Conn: configOf(t, srv.URL())}, Sources{StartWithout: true})
	require.Equal(t, policy.Default(), r.gate.Policies())
	require.Equal(t, "defaults", r.stack.Version())
	require.Error(t, r.stack.LastError())
	srv.Restart()
	exec(t, connect(t, srv.URL()), update)
	r.await(t, "the table is in force", func() bool { return r.tokens(submit) == 200 })
}

func TestWrongPassword(t *testing.T) {
	srv, conn := database(t)
	exec(t, conn, "CREATE ROLE app LOGIN PASSWORD 'right'; GRANT SELECT ON rate_limit_config, rate_limit_config_version TO app; "+update)
	r := newRig(t, PostgresConfig{Conn: configOf(t, srv.URLOf("app", "s3cret-wrong"))}, Sources{StartWithout: true})
	require.ErrorContains(t, r.stack.LastError(), "password authentication failed")
	require.NotContains(t, r.stack.LastError().Error(), "s3cret")
	require.Zero(t, r.log.count("s3cret"))
	exec(t, conn, "ALTER ROLE app PASSWORD 's3cret-wrong'")
	r.await(t, "it connects", func() bool { return r.tokens(submit) == 200 })
}

func TestHugeTable(t *testing.T) {
	srv, conn := database(t)
	r := newRig(t, PostgresConfig{Conn: configOf(t, srv.URL())}, Sources{})
	r.listening(t)
	fill := `INSERT INTO rate_limit_config (endpoint, capacity, refill_rate)
		SELECT 'GET /tenants/' || n || '/orders', 10, 10 FROM generate_series(1, $1::int) n`
	began := time.Now()
	exec(t, conn, fill, 5_000)
	r.await(t, "5,000 endpoints are in force", func() bool { return len(r.gate.Policies()) == 5_004 })
	t.Logf("5,000 endpoints after %v", time.Since(began))

	// More than a gate can name: read, refused by the gate, and what was stays.
	exec(t, conn, "DELETE FROM rate_limit_config WHERE endpoint LIKE 'GET%'")
	r.await(t, "they are gone", func() bool { return len(r.gate.Policies()) == 4 })
	exec(t, conn, fill, 70_000)
	r.await(t, "the gate refuses", func() bool { return r.stack.LastError() != nil })
	require.ErrorContains(t, r.stack.LastError(), "policies = 70004: at most 65536")
	require.Len(t, r.gate.Policies(), 4)
	require.True(t, r.gate.Allow("k", submit))

	small, err := NewPostgres(PostgresConfig{Conn: configOf(t, srv.URL()), MaxRows: 1000, Log: quiet(t)})
	require.NoError(t, err)
	require.ErrorContains(t, small.Load(context.Background()), "more than 1000 rows")
}

func TestFileAndEnvironmentOverPostgres(t *testing.T) {
	srv, conn := database(t)
	path := filepath.Join(t.TempDir(), "policies.yaml")
	require.NoError(t, os.WriteFile(path, []byte("- {endpoint: trading.submit_order, limits: [30/s]}\n"), 0o600))
	file, err := NewFile(FileConfig{Path: path, Every: 10 * time.Millisecond, Log: quiet(t)})
	require.NoError(t, err)
	r := newRig(t, PostgresConfig{Conn: configOf(t, srv.URL())}, Sources{File: file, Environment: func(name string) (string, bool) {
		return "9/h", name == "MEM_RATE_LIMIT_INGEST"
	}})
	r.listening(t)
	require.EqualValues(t, 30, r.tokens(submit))
	exec(t, conn, update)
	exec(t, conn, "UPDATE rate_limit_config SET refill_rate = 11, capacity = 11 WHERE endpoint = 'config.update'")
	r.await(t, "what the file does not name follows the table", func() bool { return r.tokens("config.update") == 11 })
	require.EqualValues(t, 30, r.tokens(submit))
	require.EqualValues(t, 9, r.tokens(policy.MemoryIngest))
	require.Equal(t, map[string]string{submit: "file", "config.update": "postgresql", "backtesting.run": "postgresql",
		"default": "postgresql", policy.MemoryIngest: "environment"}, r.stack.Origins())
	require.Equal(t, "postgresql@"+r.pg.Version()+" file@"+file.Version(), r.stack.Version())

	require.NoError(t, os.WriteFile(path, []byte("- {endpoint: backtesting.run, limits: [1/m]}\n"), 0o600))
	r.await(t, "the table answers again", func() bool { return r.tokens(submit) == 200 })
	last := r.audited()[len(r.audited())-1]
	require.True(t, strings.HasPrefix(last.Who, "file@"), last.Who)
}
