package pgconfig

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/pgconfig/internal/pgtest"
	"github.com/tickgate/tickgate/policy"
)

// in makes a schema and returns a connection whose names are looked for there.
func in(t *testing.T, srv *pgtest.Server, schema string) *pgx.Conn {
	t.Helper()
	conn := connect(t, srv.URL())
	name := pgx.Identifier{schema}.Sanitize()
	exec(t, conn, "CREATE SCHEMA "+name)
	exec(t, conn, "SET search_path = "+name)
	return conn
}

func TestInit(t *testing.T) {
	ctx := context.Background()
	srv := pgtest.Start(t)
	all := []string{"0001_table", "0002_changes", "0003_names"}

	t.Run("twice", func(t *testing.T) {
		conn := in(t, srv, `we "ird' schema`)
		done, err := Init(ctx, conn)
		require.NoError(t, err)
		require.Equal(t, all, done)
		require.NoError(t, Save(ctx, conn, policy.Default()))
		done, err = Init(ctx, conn)
		require.NoError(t, err)
		require.Empty(t, done)
		require.Equal(t, 4, value[int](t, conn, "SELECT count(*) FROM rate_limit_config"), "and nothing is lost")
		require.Equal(t, `"we ""ird' schema"`, value[string](t, conn, "SHOW search_path"), "is as it was")
	})
	t.Run("as a script", func(t *testing.T) {
		conn := in(t, srv, "script")
		for range 2 {
			_, err := conn.PgConn().Exec(ctx, SQL()).ReadAll()
			require.NoError(t, err)
		}
		done, err := Init(ctx, conn)
		require.NoError(t, err)
		require.Empty(t, done)
	})
	t.Run("from the first step on", func(t *testing.T) {
		conn := in(t, srv, "old")
		exec(t, conn, "CREATE TABLE rate_limit_config_schema (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())")
		exec(t, conn, "INSERT INTO rate_limit_config_schema VALUES (1)")
		exec(t, conn, migrations()[0].sql)
		exec(t, conn, "INSERT INTO rate_limit_config (endpoint, refill_rate) VALUES ('kept', 3)")
		done, err := Init(ctx, conn)
		require.NoError(t, err)
		require.Equal(t, all[1:], done)
		require.Equal(t, "kept", value[string](t, conn, "SELECT endpoint FROM rate_limit_config"))
	})
	t.Run("of a newer program", func(t *testing.T) {
		conn := in(t, srv, "newer")
		_, err := Init(ctx, conn)
		require.NoError(t, err)
		exec(t, conn, "INSERT INTO rate_limit_config_schema VALUES (99)")
		_, err = Init(ctx, conn)
		require.EqualError(t, err, "pgconfig: init: the schema has version 99, this program knows 3: use a newer program")
	})
	t.Run("with a table of somebody else", func(t *testing.T) {
		conn := in(t, srv, "taken")
		exec(t, conn, "CREATE TABLE rate_limit_config (endpoint text)")
		_, err := Init(ctx, conn)
		require.ErrorContains(t, err, "not made by this program: rename or drop it")
		require.False(t, value[bool](t, conn, "SELECT to_regclass('rate_limit_config_schema') IS NOT NULL"), "nothing is left half done")
	})
	t.Run("with a version of somebody else", func(t *testing.T) {
		conn := in(t, srv, "half")
		exec(t, conn, "CREATE TABLE rate_limit_config_version (version bigint)")
		_, err := Init(ctx, conn)
		require.ErrorContains(t, err, "was not made by this program: rename or drop it")
	})
	t.Run("after something was dropped", func(t *testing.T) {
		for i, c := range []struct {
			drop string
			done []string
		}{
			{"DROP TABLE rate_limit_config", all},
			{"DROP TABLE rate_limit_config, rate_limit_config_version", all},
			{"DROP TABLE rate_limit_config, rate_limit_config_version; DROP FUNCTION rate_limit_config_changed, rate_limit_config_rules, rate_limit_config_span", all},
			{"DROP TABLE rate_limit_config_version", all[1:]},
			{"DROP TRIGGER rate_limit_config_changed ON rate_limit_config", all[1:]},
			{"DROP FUNCTION rate_limit_config_rules CASCADE", all[1:]},
			{"DROP FUNCTION rate_limit_config_span", all[2:]},
		} {
			for _, script := range []bool{false, true} {
				conn := in(t, srv, fmt.Sprint("dropped", i, script))
				_, err := Init(ctx, conn)
				require.NoError(t, err)
				require.NoError(t, Save(ctx, conn, policy.Default()))
				before := value[int64](t, conn, "SELECT version FROM rate_limit_config_version")
				exec(t, conn, c.drop)
				if script {
					_, err = conn.PgConn().Exec(ctx, SQL()).ReadAll()
					require.NoError(t, err, c.drop)
				} else {
					done, err := Init(ctx, conn)
					require.NoError(t, err, c.drop)
					require.Equal(t, c.done, done, c.drop)
				}
				if !strings.Contains(c.drop, "rate_limit_config_version") && len(c.done) > 1 {
					require.Greater(t, value[int64](t, conn, "SELECT version FROM rate_limit_config_version"), before, c.drop)
				}
				done, err := Init(ctx, conn)
				require.NoError(t, err)
				require.Empty(t, done, c.drop)
				if strings.HasPrefix(c.drop, "DROP TABLE rate_limit_config_version") {
					require.Equal(t, 4, value[int](t, conn, "SELECT count(*) FROM rate_limit_config"), "and nothing else is lost")
				}
				require.NoError(t, Save(ctx, conn, policy.Default()), c.drop)
				_, err = conn.Exec(ctx, "UPDATE rate_limit_config SET name = '', window_kind = 'hopping'")
				require.Error(t, err)
			}
		}
	})
	t.Run("without a schema", func(t *testing.T) {
		conn := connect(t, srv.URL())
		exec(t, conn, "SET search_path = nowhere")
		_, err := Init(ctx, conn)
		require.ErrorContains(t, err, "no schema of the search path exists")
	})
	t.Run("without the right to", func(t *testing.T) {
		exec(t, connect(t, srv.URL()), "CREATE ROLE guest LOGIN PASSWORD 'x'")
		_, err := Init(ctx, connect(t, srv.URLOf("guest", "x")))
		require.ErrorContains(t, err, "grant it, or use another role")
	})
	t.Run("eight at a time", func(t *testing.T) {
		in(t, srv, "crowd")
		var all sync.WaitGroup
		errs := make([]error, 8)
		did := make([]int, 8)
		for i := range errs {
			conn := connect(t, srv.URL())
			exec(t, conn, "SET search_path = crowd")
			all.Go(func() {
				var done []string
				done, errs[i] = Init(ctx, conn)
				did[i] = len(done)
			})
		}
		all.Wait()
		sum := 0
		for i, err := range errs {
			require.NoError(t, err)
			sum += did[i]
		}
		require.Equal(t, 3, sum)
	})
}

func TestMigrationsFitTheirWrapping(t *testing.T) {
	require.Len(t, migrations(), len(absent))
	for i, m := range migrations() {
		require.Regexp(t, `^\d{4}_[a-z_]+$`, m.name)
		require.NotContains(t, m.sql, "$migration$")
		require.Contains(t, SQL(), m.sql)
		require.True(t, strings.HasPrefix(m.name, "000"+string(rune('1'+i))))
	}
}

// Who may only read, and who may only change limits, needs no more rights than that.
func TestRights(t *testing.T) {
	ctx := context.Background()
	srv, conn := database(t)
	exec(t, conn, `CREATE ROLE reader LOGIN PASSWORD 'x'; CREATE ROLE writer LOGIN PASSWORD 'x';
		GRANT SELECT ON rate_limit_config, rate_limit_config_version TO reader;
		GRANT SELECT, UPDATE ON rate_limit_config TO writer`)
	writer := connect(t, srv.URLOf("writer", "x"))
	exec(t, writer, "SET search_path = pg_temp") // of the session, not of the trigger
	exec(t, writer, strings.Replace(update, "rate_limit_config", "public.rate_limit_config", 1))
	require.Equal(t, "writer", value[string](t, conn, "SELECT changed_by FROM rate_limit_config_version"))
	_, err := writer.Exec(ctx, "UPDATE public.rate_limit_config_version SET version = 1")
	require.ErrorContains(t, err, "permission denied")

	p, err := NewPostgres(PostgresConfig{Conn: configOf(t, srv.URLOf("reader", "x")), Log: quiet(t)})
	require.NoError(t, err)
	require.NoError(t, p.Load(ctx))
	exec(t, conn, "REVOKE SELECT ON rate_limit_config FROM reader")
	require.ErrorContains(t, p.Load(ctx), "permission denied for table rate_limit_config (SQLSTATE 42501): grant it")
	require.Len(t, p.Current(), 4)
}

func TestSaveAndReadBack(t *testing.T) {
	ctx := context.Background()
	srv, conn := database(t)
	p, err := NewPostgres(PostgresConfig{Conn: configOf(t, srv.URL()), AllowEmpty: true, Log: quiet(t)})
	require.NoError(t, err)
	odd, err := policy.ParsePolicies(strings.NewReader(`[
		{"endpoint": "a'\";--", "limits": ["5/s reserve=2 burst=9", "300/10s aligned skew=50ms", "2000/us", "10/d rolling skew=1us name=\"a name\""], "credit": 7, "shadow": true},
		{"endpoint": "b", "limits": ["unlimited"]}, {"endpoint": "c", "limits": ["deny name=closed"]}, {"endpoint": "é", "limits": ["1/365d burst=1"]}]`))
	require.Error(t, err, "1/365d is less than one a day")
	odd, err = policy.ParsePolicies(strings.NewReader(`[
		{"endpoint": "a'\";--", "limits": ["5/s reserve=2 burst=9", "300/10s aligned skew=50ms", "2000/us", "10/d rolling skew=1us name=\"a name\""], "credit": 7, "shadow": true},
		{"endpoint": "b", "limits": ["unlimited"]}, {"endpoint": "c", "limits": ["deny name=closed"]}, {"endpoint": "é", "limits": ["365/365d burst=365"]}]`))
	require.NoError(t, err)
	for _, set := range []policy.Set{policy.Default(), policy.MemoryAPI(), odd, {}} {
		require.NoError(t, Save(ctx, conn, set))
		require.NoError(t, p.Load(ctx))
		got := p.Current()
		require.Len(t, got, len(set))
		for _, want := range set {
			have, ok := got.Lookup(want.Endpoint)
			require.True(t, ok)
			require.Equal(t, want.Credit, have.Credit)
			require.Equal(t, want.Shadow, have.Shadow)
			require.ElementsMatch(t, meaning(want), meaning(have))
		}
	}
	version := p.Version()
	fine := policy.Set{{Endpoint: "a", Limits: []policy.Limit{{Tokens: 1, Per: 1500}}}}
	require.ErrorContains(t, Save(ctx, conn, fine), "policies(a).per = \"1.5µs\": must be whole microseconds")
	require.ErrorContains(t, Save(ctx, conn, policy.Set{{Endpoint: "a"}}), "limits")
	require.NoError(t, p.Load(ctx))
	require.Equal(t, version, p.Version(), "nothing was changed")
}

// meaning is what limits mean: their labels as names, their capacity as burst.
func meaning(p policy.Policy) (out []policy.Limit) {
	for _, l := range p.Limits {
		if l.Burst == l.Tokens {
			l.Burst = 0
		}
		l.Name = l.Label()
		out = append(out, l)
	}
	return out
}

// Versions go up with every statement, and come with a notification, if it commits.
func TestVersions(t *testing.T) {
	ctx := context.Background()
	_, conn := database(t)
	exec(t, conn, "LISTEN config_updates")
	version := func() int64 { return value[int64](t, conn, "SELECT version FROM rate_limit_config_version") }
	before := version()
	for _, sql := range []string{
		"INSERT INTO rate_limit_config (endpoint, refill_rate) VALUES ('x', 1)", "UPDATE rate_limit_config SET burst_size = 1",
		"DELETE FROM rate_limit_config WHERE endpoint = 'x'", "TRUNCATE rate_limit_config",
	} {
		exec(t, conn, sql)
		require.Equal(t, before+1, version(), sql)
		n, err := conn.WaitForNotification(ctx)
		require.NoError(t, err)
		require.Equal(t, "rate_limit_config", n.Payload)
		before++
	}
	exec(t, conn, "DELETE FROM rate_limit_config_version")
	exec(t, conn, "INSERT INTO rate_limit_config (endpoint, refill_rate) VALUES ('y', 1)")
	require.EqualValues(t, 1, version(), "somebody removed the row: it is made again")
	tx, err := conn.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "DELETE FROM rate_limit_config")
	require.NoError(t, err)
	require.NoError(t, tx.Rollback(ctx))
	require.EqualValues(t, 1, version())
}
