package pgconfig

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/pgconfig/internal/pgtest"
	"github.com/tickgate/tickgate/policy"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m.Run)) }

// testConn is how to connect to nobody.
func testConn(t testing.TB) *pgx.ConnConfig {
	t.Helper()
	return configOf(t, "postgres://nobody@127.0.0.1:1/none?sslmode=disable")
}

func configOf(t testing.TB, url string) *pgx.ConnConfig {
	t.Helper()
	c, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	return c
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exec(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	_, err := conn.Exec(context.Background(), sql, args...)
	require.NoError(t, err, sql)
}

func value[V any](t testing.TB, conn *pgx.Conn, sql string) (v V) {
	t.Helper()
	require.NoError(t, conn.QueryRow(context.Background(), sql).Scan(&v), sql)
	return v
}

// database starts a server with the table and the default policies in it.
func database(t testing.TB) (*pgtest.Server, *pgx.Conn) {
	t.Helper()
	srv := pgtest.Start(t)
	conn := connect(t, srv.URL())
	_, err := Init(context.Background(), conn)
	require.NoError(t, err)
	require.NoError(t, Save(context.Background(), conn, policy.Default()))
	return srv, conn
}

// events wake a test that waits for something to have happened: log lines,
// changes, audits.
type events chan struct{}

func (e events) happened() {
	select {
	case e <- struct{}{}:
	default:
	}
}

func (e events) Write(p []byte) (int, error) {
	e.happened()
	return len(p), nil
}

// await waits until cond holds, looking at each event.
func (e events) await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	within := time.After(30 * time.Second)
	for !cond() {
		select {
		case <-e:
		case <-within:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func (e events) logger(also io.Writer) *slog.Logger {
	if also == nil {
		also = io.Discard
	}
	return slog.New(slog.NewTextHandler(io.MultiWriter(also, e), nil))
}

// rig is a gate that follows a stack.
type rig struct {
	events
	gate  *tickgate.Gate
	stack *Stack
	pg    *Postgres
	log   *book

	mu      sync.Mutex
	changes []tickgate.Change
}

// newRig loads the stack, makes the gate of it and follows until the test ends.
func newRig(t testing.TB, pc PostgresConfig, sc Sources) *rig {
	t.Helper()
	r := &rig{events: make(events, 1), log: &book{}}
	pc.Log = r.logger(r.log)
	var err error
	r.pg, err = NewPostgres(pc)
	require.NoError(t, err)
	sc.PostgreSQL, sc.Log = r.pg, pc.Log
	r.stack, err = Compose(sc)
	require.NoError(t, err)
	set, err := r.stack.Load(context.Background())
	require.NoError(t, err)
	r.gate, err = tickgate.New(tickgate.Config{Policies: set, MaxKeys: 100, Audit: func(c tickgate.Change) {
		r.mu.Lock()
		r.changes = append(r.changes, c)
		r.mu.Unlock()
		r.happened()
	}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		r.stack.Run(ctx, r.gate)
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return r
}

// listening waits until changes are heard of.
func (r *rig) listening(t testing.TB) {
	t.Helper()
	// The probe ends without an event, so the counters are looked at every 10 ms too.
	within := time.After(30 * time.Second)
	for !r.pg.Stats().Listening {
		select {
		case <-r.events:
		case <-time.After(10 * time.Millisecond):
		case <-within:
			t.Fatal("it does not listen")
		}
	}
}

// tokens returns the tokens of an endpoint's first limit in the gate.
func (r *rig) tokens(endpoint string) int64 {
	p, _ := r.gate.Policies().Lookup(endpoint)
	if len(p.Limits) == 0 {
		return -1
	}
	return p.Limits[0].Tokens
}

func (r *rig) audited() []tickgate.Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changes
}
