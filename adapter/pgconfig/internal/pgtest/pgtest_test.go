package pgtest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { os.Exit(Run(m.Run)) }

func TestServerKeepsWhatWasCommitted(t *testing.T) {
	ctx := context.Background()
	s := Start(t)
	conn, err := pgx.Connect(ctx, s.URL())
	require.NoError(t, err)
	_, err = conn.Exec(ctx, "CREATE TABLE t (a int); INSERT INTO t VALUES (7)")
	require.NoError(t, err)
	dir := s.dir

	for _, end := range []func(){s.Kill, s.Stop} {
		end()
		require.Error(t, s.answers())
		s.Restart()
		conn, err := pgx.Connect(ctx, s.URL())
		require.NoError(t, err)
		var a int
		require.NoError(t, conn.QueryRow(ctx, "SELECT a FROM t").Scan(&a))
		require.Equal(t, 7, a)
		require.NoError(t, conn.Close(ctx))
	}
	require.NoError(t, s.answers())
	_, err = pgx.Connect(ctx, s.URLOf("postgres", "wrong"))
	require.ErrorContains(t, err, "password authentication failed")
	t.Cleanup(func() { // runs before the server's own
		s.Kill()
		require.DirExists(t, dir)
	})
}

func TestServersAreIndependent(t *testing.T) {
	a, b := Start(t), Start(t)
	require.NotEqual(t, a.Addr(), b.Addr())
	a.Kill()
	require.NoError(t, b.answers())
}

// skipped is a T that takes note of being skipped.
type skipped struct {
	testing.TB
	reason string
}

func (s *skipped) Skipf(format string, args ...any) {
	s.reason = fmt.Sprintf(format, args...)
	panic(s)
}

func TestSkippedWhereNotInstalled(t *testing.T) {
	t.Setenv("TICKGATE_POSTGRES_BIN", t.TempDir())
	s := &skipped{TB: t}
	require.PanicsWithValue(t, s, func() { Start(s) })
	require.Contains(t, s.reason, "install the package postgresql")
}
