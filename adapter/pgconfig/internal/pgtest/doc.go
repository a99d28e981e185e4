// Package pgtest starts real PostgreSQL servers for tests. Each has its own data folder
// and a free port on 127.0.0.1, answers when Start returns, and is stopped by its
// process id when the test ends; on Linux also when the test binary dies.
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Run(m.Run)) }
//
//	srv := pgtest.Start(t)
//	conn, err := pgx.Connect(ctx, srv.URL())
//	srv.Kill()     // at once, connections break; what was committed stays
//	srv.Restart()  // same port and folder
//
// A test is skipped where no server is installed. The programs are those of the folder
// named by TICKGATE_POSTGRES_BIN, else of the newest under /usr/lib/postgresql, else of
// the PATH. No other server is used, also if one runs. As root, which PostgreSQL
// refuses to run as, servers run as the user postgres or nobody.
package pgtest
