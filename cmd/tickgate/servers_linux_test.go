package main

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// freePort returns a port that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

// background runs a program until the test ends. It ends with the test binary too.
func background(t *testing.T, cmd *exec.Cmd) (ended <-chan struct{}) {
	t.Helper()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	require.NoError(t, cmd.Start())
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	return done
}

// redisServer is a real Redis that keeps everything it was told, and can be killed.
type redisServer struct {
	port, dir string
	cmd       *exec.Cmd
}

func startRedis(t *testing.T) *redisServer {
	t.Helper()
	return startRedisWith(t, "--port")
}

// startRedisWith starts one that listens by the flag named port, with more flags.
func startRedisWith(t *testing.T, port string, flags ...string) *redisServer {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed")
	}
	r := &redisServer{port: freePort(t), dir: t.TempDir()}
	r.cmd = exec.Command(binary, append(flags, port, r.port, "--bind", "127.0.0.1", "--dir", r.dir, "--save", "", "--appendonly", "yes", "--appendfsync", "always")...)
	background(t, r.cmd)
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+r.port)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, 10*time.Second, 10*time.Millisecond, "Redis answers")
	return r
}

func (r *redisServer) url() string { return "redis://127.0.0.1:" + r.port }

// postgresServer is a real PostgreSQL.
type postgresServer struct {
	t    *testing.T
	port string
}

// startPostgres starts one, as another user where the tests run as root, which it
// refuses.
func startPostgres(t *testing.T) *postgresServer {
	t.Helper()
	if testing.Short() {
		t.Skip("PostgreSQL takes seconds to make its files")
	}
	postgres, initdb := programOf("postgres"), programOf("initdb")
	if postgres == "" || initdb == "" {
		t.Skip("PostgreSQL is not installed")
	}
	attr := func() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
	dir, err := os.MkdirTemp("", "tickgate-serve-pg-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if os.Geteuid() == 0 {
		other, err := user.Lookup("nobody")
		if err != nil {
			t.Skip("PostgreSQL refuses root, and there is no other user to run it as")
		}
		uid, err := strconv.Atoi(other.Uid)
		require.NoError(t, err)
		gid, err := strconv.Atoi(other.Gid)
		require.NoError(t, err)
		require.NoError(t, os.Chown(dir, uid, gid))
		attr = func() *syscall.SysProcAttr {
			return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		}
	}
	data := filepath.Join(dir, "data")
	prepare := exec.Command(initdb, "--pgdata="+data, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	prepare.Dir, prepare.SysProcAttr = dir, attr()
	out, err := prepare.CombinedOutput()
	require.NoError(t, err, string(out))
	s := &postgresServer{t: t, port: freePort(t)}
	cmd := exec.Command(postgres, "-D", data, "-p", s.port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		"-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=20", "-c", "autovacuum=off")
	cmd.Dir, cmd.SysProcAttr = dir, attr()
	background(t, cmd)
	require.Eventually(t, func() bool {
		conn, err := pgx.Connect(context.Background(), s.url())
		if err == nil {
			_ = conn.Close(context.Background())
		}
		return err == nil
	}, 30*time.Second, 50*time.Millisecond, "PostgreSQL answers")
	return s
}

// programOf finds a program of PostgreSQL, "" if there is none.
func programOf(name string) string {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name); len(found) > 0 {
		return found[len(found)-1]
	}
	path, _ := exec.LookPath(name)
	return path
}

func (s *postgresServer) url() string {
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Host: "127.0.0.1:" + s.port, Path: "/postgres", RawQuery: "sslmode=disable"}
	return u.String()
}

// exec runs statements, each in a transaction of its own.
func (s *postgresServer) exec(statements ...string) {
	s.t.Helper()
	ctx, done := context.WithTimeout(context.Background(), 10*time.Second)
	defer done()
	conn, err := pgx.Connect(ctx, s.url())
	require.NoError(s.t, err)
	defer conn.Close(ctx)
	for _, sql := range statements {
		_, err := conn.Exec(ctx, sql)
		require.NoError(s.t, err, sql)
	}
}

// process is a tickgate of its own, which can be killed.
type process struct {
	served
	cmd   *exec.Cmd
	ended <-chan struct{}
}

// TestMain is tickgate itself where a test says so.
func TestMain(m *testing.M) {
	if os.Getenv("TICKGATE_TEST_PROCESS") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// fork runs a command line in a process of its own, until it serves.
func fork(t *testing.T, environment []string, args ...string) *process {
	t.Helper()
	p := &process{served: served{client: &http.Client{Transport: &http.Transport{}}, ports: map[string]string{}, ready: make(chan struct{})}}
	p.cmd = exec.Command(os.Args[0], append([]string{"serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, args...)...)
	p.cmd.Env = append([]string{"TICKGATE_TEST_PROCESS=1", "PATH=" + os.Getenv("PATH")}, environment...)
	p.cmd.Stdout, p.cmd.Stderr = &p.served, &p.served
	p.ended = background(t, p.cmd)
	select {
	case <-p.ready:
		p.address = p.port(t, "")
	case <-p.ended:
		t.Fatal(p.String())
	case <-time.After(30 * time.Second):
		t.Fatal("does not serve: " + p.String())
	}
	return p
}

// kill ends it as kill -9 does.
func (p *process) kill() {
	p.client.CloseIdleConnections()
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.ended
}

// hangUp sends SIGHUP.
func (p *process) hangUp(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
}

// terminate sends SIGTERM, and waits for the end.
func (p *process) terminate(t *testing.T) {
	t.Helper()
	p.client.CloseIdleConnections()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	<-p.ended
}
