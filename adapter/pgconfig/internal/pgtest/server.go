package pgtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	startWithin = 30 * time.Second
	stopWithin  = 20 * time.Second
)

// Server is one PostgreSQL server. Its methods end the test on failure, so they are
// for the test's goroutine.
type Server struct {
	t        T
	programs programs
	who      as
	dir      string
	port     int

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
}

// Start starts a server and returns when it answers.
func Start(t T) *Server {
	t.Helper()
	p, ok := find()
	if !ok {
		t.Skipf("PostgreSQL is not installed: install the package postgresql, or name the folder of initdb and postgres in TICKGATE_POSTGRES_BIN")
	}
	who, err := unprivileged()
	if err != nil {
		t.Skipf("PostgreSQL cannot be started: %v", err)
	}
	s := &Server{t: t, programs: p, who: who}
	t.Cleanup(func() {
		s.stop(signalKill)
		if s.dir != "" {
			_ = os.RemoveAll(s.dir)
		}
	})
	if s.dir, err = newFolder(p, who); err != nil {
		t.Fatalf("a data folder for PostgreSQL: %v", err)
	}
	for try := 0; ; try++ {
		if s.port, err = freePort(); err == nil {
			err = s.start()
		}
		if err == nil {
			return s
		}
		// Another process may have taken the port between the look and the bind.
		if try == 4 || !strings.Contains(err.Error(), "could not bind") {
			t.Fatalf("starting PostgreSQL: %v", err)
		}
	}
}

// freePort returns a port of the loopback that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Addr returns host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL returns how to connect to the database "postgres" as superuser.
func (s *Server) URL() string { return s.URLOf("postgres", Password) }

// URLOf returns how to connect as another user.
func (s *Server) URLOf(user, password string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(user, password), Host: s.Addr(), Path: "/postgres", RawQuery: "sslmode=disable"}
	return u.String()
}

// Restart starts the server again after Kill or Stop, with the same port and folder,
// and returns when it answers.
func (s *Server) Restart() {
	s.t.Helper()
	if err := s.start(); err != nil {
		s.t.Fatalf("restarting PostgreSQL: %v", err)
	}
}

// Kill ends the server at once and returns when it is gone. What was committed is
// there after Restart.
func (s *Server) Kill() { s.stop(signalKill) }

// Stop ends the server in order: connections are told.
func (s *Server) Stop() { s.stop(signalStop) }

func (s *Server) stop(signal os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(signal)
	select {
	case <-s.exited:
	case <-time.After(stopWithin):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
	s.cmd = nil
}

func (s *Server) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		return fmt.Errorf("it runs already")
	}
	var out bytes.Buffer
	cmd := exec.Command(s.programs.postgres, "-D", filepath.Join(s.dir, "data"), "-p", strconv.Itoa(s.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off",
		"-c", "shared_buffers=16MB", "-c", "max_connections=40", "-c", "autovacuum=off")
	cmd.Dir = s.dir
	cmd.Stdout, cmd.Stderr = &out, &out
	s.who.run(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	for end := time.Now().Add(startWithin); ; {
		err := s.answers()
		if err == nil {
			s.cmd, s.exited = cmd, exited
			return nil
		}
		select {
		case <-exited:
			return fmt.Errorf("it ended: %s", out.String())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			<-exited
			return fmt.Errorf("no answer within %v: %w\n%s", startWithin, err, out.String())
		}
	}
}

// answers connects once.
func (s *Server) answers() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}
