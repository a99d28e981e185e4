package pgconfig

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// session is one connection, as the following of a table uses it. Errors of the
// server that leave the connection as it was are a [*pgconn.PgError]; after any
// other, and where lost says so, the session is of no more use.
type session interface {
	listen(ctx context.Context, channel string) error
	unlisten(ctx context.Context, channel string) error
	notify(ctx context.Context, channel string) error
	// wait returns the next notification, nil if there was none for d.
	wait(ctx context.Context, d time.Duration) (*pgconn.Notification, error)
	ping(ctx context.Context) error
	version(ctx context.Context) (string, error)
	// load reads version and rows in one snapshot, at most so many rows and one.
	load(ctx context.Context, most int) (version string, rows []row, err error)
	lost() bool
	close()
}

// Time-outs of what a session does.
const (
	dialWithin = 10 * time.Second
	callWithin = 10 * time.Second
	loadWithin = 30 * time.Second
	byeWithin  = time.Second
)

// dial connects. The configuration is not changed.
func dial(ctx context.Context, config *pgx.ConnConfig) (session, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &pgSession{conn}, nil
}

// connConfig is a copy of c with what following a table needs.
func connConfig(c *pgx.ConnConfig) *pgx.ConnConfig {
	c = c.Copy()
	if c.RuntimeParams == nil {
		c.RuntimeParams = map[string]string{}
	}
	// Names are UTF-8 here, whatever the database has. Poolers pass both parameters on.
	c.RuntimeParams["client_encoding"] = "UTF8"
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "tickgate"
	}
	c.OnNotification = nil // pgx keeps them for wait
	return c
}

// pgSession is a session by pgx. No statement is prepared by name, which poolers
// in transaction mode would lose.
type pgSession struct{ conn *pgx.Conn }

func (s *pgSession) exec(ctx context.Context, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	_, err := s.conn.Exec(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...)
	return err
}

func (s *pgSession) listen(ctx context.Context, channel string) error {
	return s.exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize())
}

func (s *pgSession) unlisten(ctx context.Context, channel string) error {
	return s.exec(ctx, "UNLISTEN "+pgx.Identifier{channel}.Sanitize())
}

func (s *pgSession) notify(ctx context.Context, channel string) error {
	return s.exec(ctx, "SELECT pg_notify($1, '')", channel)
}

func (s *pgSession) wait(ctx context.Context, d time.Duration) (*pgconn.Notification, error) {
	if d <= 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	n, err := s.conn.WaitForNotification(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && !s.conn.IsClosed() {
		return nil, nil
	}
	return n, err
}

func (s *pgSession) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	return s.conn.Ping(ctx)
}

func (s *pgSession) version(ctx context.Context) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	err = s.conn.QueryRow(ctx, "SELECT version::text FROM rate_limit_config_version", pgx.QueryExecModeExec).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return version, err
}

// query reads everything as text, in one statement and so in one snapshot. There is
// a row with NULLs if the table is empty, and none if the version is missing.
const query = `
SELECT v.version::text, c.present IS NOT NULL,
    coalesce(c.endpoint::text, ''), coalesce(c.name::text, ''), coalesce(c.window_kind::text, ''),
    c.capacity::text, c.refill_rate::text,
    coalesce(extract(epoch FROM c.refill_period)::text, 'NULL'), coalesce(extract(epoch FROM c.skew)::text, 'NULL'),
    CASE WHEN extract(year FROM c.refill_period) <> 0 OR extract(month FROM c.refill_period) <> 0 THEN 't' ELSE 'f' END ||
    CASE WHEN extract(year FROM c.skew) <> 0 OR extract(month FROM c.skew) <> 0 THEN 't' ELSE 'f' END,
    coalesce(c.reserve::text, 'NULL'), coalesce(c.burst_size::text, 'NULL'), coalesce(c.shadow, false)
FROM rate_limit_config_version v
LEFT JOIN (SELECT true AS present, t.* FROM rate_limit_config t) c ON true
ORDER BY c.endpoint COLLATE "C", c.name COLLATE "C"
LIMIT $1`

// errNoVersion is the fault of a schema whose version row is gone.
var errNoVersion = errors.New("the table rate_limit_config_version is empty: change any limit, which fills it")

func (s *pgSession) load(ctx context.Context, most int) (version string, rows []row, err error) {
	ctx, cancel := context.WithTimeout(ctx, loadWithin)
	defer cancel()
	result, err := s.conn.Query(ctx, query, pgx.QueryExecModeExec, int64(most)+1)
	if err != nil {
		return "", nil, err
	}
	defer result.Close()
	for result.Next() {
		var r row
		var present bool
		if err := result.Scan(&version, &present, &r.endpoint, &r.name, &r.window, &r.capacity, &r.rate,
			&r.period, &r.skew, &r.calendar, &r.reserve, &r.burst, &r.shadow); err != nil {
			return "", nil, err
		}
		if present {
			rows = append(rows, r)
		}
	}
	if err := result.Err(); err != nil {
		return "", nil, err
	}
	if version == "" {
		return "", nil, errNoVersion
	}
	return version, rows, nil
}

func (s *pgSession) lost() bool { return s.conn.IsClosed() }

func (s *pgSession) close() {
	ctx, cancel := context.WithTimeout(context.Background(), byeWithin)
	defer cancel()
	_ = s.conn.Close(ctx)
}
