package pgconfig

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/pgconfig/internal/pgtest"
	"github.com/tickgate/tickgate/policy"
)

// values at and beside every bound, for each column.
var values = map[string][]string{
	"endpoint": {"'a'", "''", "'default'", "repeat('x', 256)", "repeat('x', 257)", "repeat('é', 128)", "repeat('é', 129)", `E'\n'`, `E'a\x1b[31m'`,
		`E'\u007f'`, `E'\u0085'`, `E'\u00a0'`, `E'\u2028'`, "'''; DROP TABLE rate_limit_config; --'", "'].capacity'", "'a'", "'a'"},
	"name":        {"''", "'hour'", "'a b'", `'q"'`, `E'b\\'`, "'é'", "repeat('n', 64)", "repeat('n', 65)", `E'\t'`, "'~ '"},
	"capacity":    {"NULL", "NULL", "1", "0", "-1", "5", "100", "9223372036854775807", "1073741824", "31536000", "31536001"},
	"refill_rate": {"NULL", "1", "0", "-1", "5", "100", "2000", "2001", "2000000000", "2000000001", "1073741824", "1073741825", "9223372036854775807", "365", "364"},
	"refill_period": {"'1 second'", "'1 second'", "'1 second'", "'0'", "'-1 second'", "'1 microsecond'", "'1 day'", "'24:00:00.000001'", "'365 days'", "'365 days 1 microsecond'",
		"'1 month'", "'1 year'", "'1 month -29 days'", "'6 days'", "'6 days 1 microsecond'", "'1 day -23 hours'", "'10 seconds'"},
	"window_kind": {"'token-bucket'", "'token-bucket'", "'aligned'", "'from-first'", "'rolling'", "'rolling'", "'unlimited'", "'deny'", "'hopping'", "''", "'Deny'"},
	"reserve":     {"0", "0", "0", "1", "-1", "4", "5", "99", "100", "9223372036854775807"},
	"skew":        {"'0'", "'0'", "'0'", "'-1 ms'", "'1 microsecond'", "'0.499999 s'", "'0.5 s'", "'5 days 23:59:59'", "'6 days'", "'1 month'", "'1 month -30 days'"},
	"burst_size":  {"0", "0", "1", "-1", "9223372036854775807"},
}

// The constraints of the table take a row if and only if the program takes it.
func TestConstraintsMirrorValidation(t *testing.T) {
	ctx := context.Background()
	srv := pgtest.Start(t)
	strict, bare := in(t, srv, "strict"), in(t, srv, "bare")
	for _, conn := range []*pgx.Conn{strict, bare} {
		_, err := Init(ctx, conn)
		require.NoError(t, err)
		exec(t, conn, "ALTER TABLE rate_limit_config DISABLE TRIGGER USER")
	}
	exec(t, bare, `DO $$ DECLARE c name; BEGIN
		FOR c IN SELECT conname FROM pg_constraint WHERE conrelid = 'rate_limit_config'::regclass AND contype = 'c' LOOP
			EXECUTE format('ALTER TABLE rate_limit_config DROP CONSTRAINT %I', c);
		END LOOP; END $$`)

	n := 1500
	if testing.Short() {
		n = 500
	}
	r := rand.New(rand.NewPCG(1, 2))
	taken, refused := 0, map[string]int{}
	for i := range n {
		if i%200 == 0 { // what was rolled back still takes room
			exec(t, strict, "TRUNCATE rate_limit_config")
			exec(t, bare, "TRUNCATE rate_limit_config")
		}
		cols, vals := make([]string, 0, len(values)), make([]string, 0, len(values))
		pick := map[string]string{}
		for _, col := range []string{"endpoint", "name", "capacity", "refill_rate", "refill_period", "window_kind", "reserve", "skew", "burst_size"} {
			v := values[col][0]
			switch col {
			case "capacity", "refill_rate", "window_kind", "refill_period":
				v = values[col][r.IntN(len(values[col]))]
			default: // few faults at a time, or each row has one
				if r.IntN(6) == 0 {
					v = values[col][r.IntN(len(values[col]))]
				}
			}
			pick[col] = v
			cols, vals = append(cols, col), append(vals, v)
		}
		if w := pick["window_kind"]; w == "'unlimited'" || w == "'deny'" {
			vals[4] = "'1 second'" // has no meaning to the program; the table wants a sane one
			if r.IntN(2) == 0 {
				vals[2], vals[3] = "NULL", "NULL"
			}
		}
		sql := "INSERT INTO rate_limit_config (" + strings.Join(cols, ", ") + ") VALUES (" + strings.Join(vals, ", ") + ")"

		var goErr, pgErr error
		err := pgx.BeginFunc(ctx, bare, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, sql, pgx.QueryExecModeExec); err != nil {
				return err
			}
			_, rows, err := (&pgSession{bare}).load(ctx, 10)
			require.NoError(t, err)
			require.Len(t, rows, 1)
			_, goErr = toSet(rows)
			return tx.Rollback(ctx)
		})
		require.ErrorIs(t, err, pgx.ErrTxClosed, sql)
		tx, err := strict.Begin(ctx)
		require.NoError(t, err)
		_, pgErr = tx.Exec(ctx, sql, pgx.QueryExecModeExec)
		require.NoError(t, tx.Rollback(ctx))

		require.Equal(t, goErr == nil, pgErr == nil, "%s\nprogram: %v\ntable: %v", sql, goErr, pgErr)
		var pg *pgconn.PgError
		if errors.As(pgErr, &pg) {
			require.Equal(t, "23514", pg.Code, "%s: %v", sql, pgErr)
			refused[pg.ConstraintName]++
		} else {
			taken++
		}
	}
	require.Greater(t, taken, n/20)
	require.Len(t, refused, 11, "every constraint refused something: %v", refused)
}

func TestRulesBetweenRows(t *testing.T) {
	ctx := context.Background()
	srv, conn := database(t)
	exec(t, conn, "INSERT INTO rate_limit_config (endpoint, name, refill_rate) VALUES ('a', 'x', 1), ('a', 'y', 2), ('b', '', 3)")
	for sql, reason := range map[string]string{
		"UPDATE rate_limit_config SET burst_size = 3 WHERE name = 'x'":                                                  "endpoint 'a': burst_size must be the same",
		"UPDATE rate_limit_config SET shadow = true WHERE name = 'x'":                                                   "endpoint 'a': shadow must be the same",
		"UPDATE rate_limit_config SET endpoint = 'a', window_kind = 'deny', refill_rate = NULL WHERE endpoint = 'b'":    "endpoint 'a': unlimited or deny must be its only limit",
		"INSERT INTO rate_limit_config (endpoint, name, refill_rate) SELECT 'a', n::text, 1 FROM generate_series(3,9)n": "endpoint 'a': at most 8 limits",
	} {
		_, err := conn.Exec(ctx, sql)
		require.ErrorContains(t, err, reason, sql)
		require.ErrorContains(t, err, "23514")
	}
	exec(t, conn, "UPDATE rate_limit_config SET burst_size = 3, shadow = true WHERE endpoint = 'a'")
	exec(t, conn, "INSERT INTO rate_limit_config (endpoint, name, refill_rate, burst_size, shadow) SELECT 'a', n::text, 1, 3, true FROM generate_series(3,8)n")

	// Two at a time: the second sees what the first did, or waits until it has.
	other := connect(t, srv.URL())
	tx, err := conn.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "INSERT INTO rate_limit_config (endpoint, window_kind) VALUES ('c', 'deny')")
	require.NoError(t, err)
	second := make(chan error)
	go func() {
		_, err := other.Exec(ctx, "INSERT INTO rate_limit_config (endpoint, name, refill_rate) VALUES ('c', 'n', 1)")
		second <- err
	}()
	require.NoError(t, tx.Commit(ctx))
	require.ErrorContains(t, <-second, "endpoint 'c': unlimited or deny must be its only limit")
}

// A limit without a name goes by its rate, which no other limit of the endpoint may be
// named as: by the table as by the program.
func TestNamesBetweenRowsMirrorValidation(t *testing.T) {
	ctx := context.Background()
	_, conn := database(t)
	limits := []string{"5/s", "5/10s burst=7", "100/m", "7/2h", "300/d", "90/2d aligned", "2000/us", "60/m reserve=3 from-first skew=1s", "10/1500ms rolling skew=250us", "5/s burst=5", "90/60m", "4/24h"}
	refused := 0
	for _, unnamed := range limits {
		l, err := policy.ParseLimit(unnamed)
		require.NoError(t, err)
		for _, name := range append([]string{l.String(), l.Rate().String() + " "}, limits...) {
			set := policy.Set{{Endpoint: "h", Limits: []policy.Limit{l, {Name: name, Tokens: 7, Per: time.Second}}}}
			fault := set.Validate()
			var capacity *int64
			if l.Burst != 0 {
				capacity = &l.Burst
			}
			tx, err := conn.Begin(ctx)
			require.NoError(t, err)
			_, err = tx.Exec(ctx, `INSERT INTO rate_limit_config (endpoint, name, capacity, refill_rate, refill_period, window_kind, reserve, skew)
				VALUES ('h', '', $1, $2, $3 * interval '1 microsecond', $4, $5, $6 * interval '1 microsecond'), ('h', $7, NULL, 7, '1 s', 'token-bucket', 0, '0')`,
				pgx.QueryExecModeExec, capacity, l.Tokens, l.Per.Microseconds(), l.Window.String(), l.Reserve, l.Skew.Microseconds(), name)
			require.NoError(t, tx.Rollback(ctx))
			if l.Burst == l.Tokens && l.Burst != 0 { // the table makes no difference, nor do programs that read it
				l.Burst = 0
				set[0].Limits[0] = l
				fault = set.Validate()
			}
			require.Equal(t, fault == nil, err == nil, "%s beside %q\nprogram: %v\ntable: %v", unnamed, name, fault, err)
			if err != nil {
				require.ErrorContains(t, err, "endpoint 'h': the limit without a name goes by its rate", unnamed)
				require.ErrorContains(t, err, "23514")
				refused++
			}
		}
	}
	require.GreaterOrEqual(t, refused, len(limits))
}

// What the table holds where somebody took its constraints away, or its database
// has another encoding: read, and judged.
func TestHostileValuesInTheDatabase(t *testing.T) {
	ctx := context.Background()
	srv, conn := database(t)
	load := func(database string) (policy.Set, error) {
		config := configOf(t, srv.URL())
		config.Database = database
		p, err := NewPostgres(PostgresConfig{Conn: config, Log: quiet(t)})
		require.NoError(t, err)
		err = p.Load(ctx)
		return p.Current(), err
	}
	exec(t, conn, `ALTER TABLE rate_limit_config DROP CONSTRAINT rate_limit_config_pkey, DROP CONSTRAINT rate_limit_config_endpoint, DROP CONSTRAINT rate_limit_config_name,
		DROP CONSTRAINT rate_limit_config_window_kind, DROP CONSTRAINT rate_limit_config_capacity, DROP CONSTRAINT rate_limit_config_refill_period,
		DROP CONSTRAINT rate_limit_config_one_a_day_to_2e9_a_second, DROP CONSTRAINT rate_limit_config_skew`)
	for _, column := range []string{"endpoint", "name", "window_kind"} {
		for _, v := range []string{"E'\\n\\nlevel=INFO'", "E'\\x1b[2J'", "repeat('x', 1000000)", "'%s%n'", "E'\\u202e'"} {
			exec(t, conn, "INSERT INTO rate_limit_config (endpoint, name, window_kind, refill_rate) VALUES ('h', '', 'token-bucket', 1)")
			exec(t, conn, "UPDATE rate_limit_config SET "+column+" = "+v+" WHERE endpoint = 'h'")
			_, err := load("postgres")
			if err != nil {
				require.NotContains(t, err.Error(), "\n", "%s %s", column, v)
				require.NotContains(t, err.Error(), "\x1b")
				require.Less(t, len(err.Error()), 800)
			} else {
				require.NotEqual(t, "window_kind", column, "%s is no window", v)
			}
			exec(t, conn, "DELETE FROM rate_limit_config WHERE refill_rate = 1")
		}
	}
	for _, set := range []string{"refill_period = '178000000 years'", "refill_period = '-178000000 years'", "skew = '178000000 years'", "capacity = 9223372036854775807, refill_rate = 1"} {
		exec(t, conn, "UPDATE rate_limit_config SET "+set+" WHERE endpoint = 'default'")
		_, err := load("postgres")
		require.ErrorContains(t, err, `rate_limit_config["default"].`, set)
		exec(t, conn, "UPDATE rate_limit_config SET refill_period = '1 s', skew = '0', capacity = 5, refill_rate = 5 WHERE endpoint = 'default'")
	}
	_, err := load("postgres")
	require.NoError(t, err)

	for encoding, insert := range map[string]string{
		"LATIN1": "INSERT INTO rate_limit_config (endpoint, refill_rate) VALUES ('caf' || chr(233), 1)",
		"SQL_ASCII": `ALTER TABLE rate_limit_config DROP CONSTRAINT rate_limit_config_endpoint;
			INSERT INTO rate_limit_config (endpoint, refill_rate) VALUES (E'caf\xe9', 1)`,
	} {
		name := "db_" + strings.ToLower(encoding)
		exec(t, conn, "CREATE DATABASE "+name+" ENCODING '"+encoding+"' LOCALE 'C' TEMPLATE template0")
		other := connect(t, strings.Replace(srv.URL(), "/postgres?", "/"+name+"?", 1))
		_, err := Init(ctx, other)
		require.NoError(t, err)
		_, err = other.PgConn().Exec(ctx, insert).ReadAll()
		require.NoError(t, err)
		set, err := load(name)
		if encoding == "LATIN1" {
			require.NoError(t, err)
			require.Equal(t, "café", set[0].Endpoint)
		} else {
			require.ErrorContains(t, err, "invalid byte sequence")
		}
	}
}
