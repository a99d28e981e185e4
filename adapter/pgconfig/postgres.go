package pgconfig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tickgate/tickgate/policy"
)

// Defaults of a [PostgresConfig].
const (
	DefaultPoll   = time.Second
	DefaultResync = 60 * time.Second
	// DefaultMaxRows is what a gate can name: 65,536 endpoints of eight limits.
	DefaultMaxRows = 8 << 16
)

// PostgresConfig says where the table is and how it is followed. Conn is required.
type PostgresConfig struct {
	// Conn is how to connect, from pgx.ParseConfig. The table is looked for along the
	// search_path of the connection. It is copied; neither errors nor logs show its password.
	Conn *pgx.ConnConfig

	// AllowEmpty makes a table without rows a set without policies, so that the layers
	// below decide. Otherwise it is a fault: somebody may have emptied it by mistake.
	AllowEmpty bool

	// PollOnly is for poolers in transaction mode, which pass no notifications on:
	// nothing is listened to. Without it that is found out once, when first connected.
	PollOnly bool

	// Poll is how often the version is asked for where nothing can be heard, at
	// least 10 ms. 0: DefaultPoll.
	Poll time.Duration

	// Resync is how often the table is read although nothing was heard and no version
	// changed, at least 10 ms. 0: DefaultResync.
	Resync time.Duration

	// MaxRows bounds the table, and so the memory that reading it takes, about 500
	// bytes a row. 0: DefaultMaxRows.
	MaxRows int

	Log *slog.Logger // nil: slog.Default()
}

func (c *PostgresConfig) check() error {
	var faults []error
	fault := func(field, value, reason string) {
		faults = append(faults, &policy.ConfigError{Field: field, Value: value, Reason: reason})
	}
	if c.Conn == nil {
		fault("Conn", "nil", "is required: take what pgx.ParseConfig returns")
	}
	span := func(field string, d *time.Duration, usual time.Duration) {
		if *d == 0 {
			*d = usual
		}
		if *d < shortest {
			fault(field, d.String(), "must be at least "+shortest.String()+", or 0 for "+usual.String())
		}
	}
	span("Poll", &c.Poll, DefaultPoll)
	span("Resync", &c.Resync, DefaultResync)
	if c.MaxRows == 0 {
		c.MaxRows = DefaultMaxRows
	}
	if c.MaxRows < 0 {
		fault("MaxRows", strconv.Itoa(c.MaxRows), "must be above zero, or 0 for "+strconv.Itoa(DefaultMaxRows))
	}
	return errors.Join(faults...)
}

// shortest bounds how often sources are looked at.
const shortest = 10 * time.Millisecond

// Postgres is the table rate_limit_config of a PostgreSQL database as a [Source]
// named "postgresql". Its version is the one in rate_limit_config_version, which grows
// with every statement that may have changed a limit.
type Postgres struct {
	state
	cfg  PostgresConfig
	dial func(context.Context) (session, error)
	turn chan struct{} // holds a token while nobody reads: readings are judged in their order

	// Of Run alone.
	probed bool // it is known whether notifications arrive
	deaf   bool // they do not
}

var _ Source = (*Postgres)(nil)

// NewPostgres returns the source; nothing is connected yet. The error lists every
// fault of the configuration.
func NewPostgres(c PostgresConfig) (*Postgres, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	conn := connConfig(c.Conn)
	c.Conn = nil
	p := newPostgres(c, func(ctx context.Context) (session, error) { return dial(ctx, conn) })
	return p, nil
}

func newPostgres(c PostgresConfig, dial func(context.Context) (session, error)) *Postgres {
	p := &Postgres{cfg: c, dial: dial, turn: make(chan struct{}, 1), deaf: c.PollOnly}
	p.init("postgresql", c.Log)
	p.turn <- struct{}{}
	return p
}

// Load reads the table once, on a connection that it opens and closes.
func (p *Postgres) Load(ctx context.Context) error {
	s, err := p.dial(ctx)
	if err != nil {
		return p.failed(ctx, err)
	}
	defer s.close()
	_, err = p.reload(ctx, s)
	return err
}

// failed takes an error of the connection or the server. Being told to stop is none.
func (p *Postgres) failed(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	return p.fault(Failed, explain(err))
}

// reload reads the table and judges it. It returns the version that was read, also
// of a table that is rejected, and the fault. Where that is not of the table but of
// the connection, s.lost or the error tells, see broken.
func (p *Postgres) reload(ctx context.Context, s session) (version string, err error) {
	select {
	case <-p.turn:
		defer func() { p.turn <- struct{}{} }()
	case <-ctx.Done():
		return "", p.failed(ctx, ctx.Err())
	}
	version, rows, err := s.load(ctx, p.cfg.MaxRows)
	if err != nil {
		return "", p.failed(ctx, err)
	}
	set, err := p.judge(rows)
	if err != nil {
		return version, p.fault(Rejected, fmt.Errorf("version %s: %w", version, err))
	}
	p.accept(set, version)
	return version, nil
}

// judge makes rows a set, or says why they are none.
func (p *Postgres) judge(rows []row) (policy.Set, error) {
	switch {
	case len(rows) == 0 && !p.cfg.AllowEmpty:
		return nil, errEmpty
	case len(rows) > p.cfg.MaxRows:
		return nil, errRows(p.cfg.MaxRows)
	}
	return toSet(rows)
}

// broken reports whether a session is of no more use after err.
func broken(s session, err error) bool {
	var pg *pgconn.PgError
	return err != nil && (s.lost() || !errors.As(err, &pg) && !errors.Is(err, errNoVersion))
}
