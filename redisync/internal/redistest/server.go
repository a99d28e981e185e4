package redistest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// startWithin is how long a server may take until it answers.
const startWithin = 15 * time.Second

// Server is one running redis-server.
type Server struct {
	t        T
	binary   string
	args     []string // after the configuration
	dir      string
	conf     string
	port     int
	options  Options
	certs    *certs
	sentinel bool

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
}

// Start starts a server and returns when it answers.
func Start(t T, o Options) *Server {
	t.Helper()
	return start(t, o, false)
}

// StartReplica starts a replica of master and returns when it is in step.
// The options should be the master's.
func StartReplica(t T, master *Server, o Options) *Server {
	t.Helper()
	o.Config = append(o.Config[:len(o.Config):len(o.Config)],
		"repl-diskless-sync yes", "repl-diskless-sync-delay 0",
		fmt.Sprintf("replicaof 127.0.0.1 %d", master.port))
	s := start(t, o, false)
	s.Wait("the replica is in step", func() bool {
		return strings.Contains(s.info("replication"), "master_link_status:up")
	})
	return s
}

func start(t T, o Options, sentinel bool, args ...string) *Server {
	t.Helper()
	s := &Server{t: t, binary: Installed(t), args: args, options: o, sentinel: sentinel}
	dir, err := os.MkdirTemp("", "tickgate-redis-")
	if err != nil {
		t.Fatalf("a folder for redis-server: %v", err)
	}
	s.dir = dir
	t.Cleanup(func() {
		s.TryKill()
		os.RemoveAll(dir)
	})
	if o.TLS {
		if s.certs, err = makeCerts(dir); err != nil {
			t.Fatalf("certificates for redis-server: %v", err)
		}
	}
	for try := 0; ; try++ {
		s.port = freePort(t)
		if s.conf, err = o.write(dir, s.port, s.certs); err != nil {
			t.Fatalf("configuring redis-server: %v", err)
		}
		if err = s.TryRestart(); err == nil {
			return s
		}
		// Another process may have taken the port between the look and the bind.
		if try == 4 || !strings.Contains(s.Log(), "Address already in use") {
			t.Fatalf("starting redis-server: %v\n%s", err, s.Log())
		}
	}
}

// Addr returns host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", fmt.Sprint(s.port)) }

// Port returns the port.
func (s *Server) Port() int { return s.port }

// Socket returns the path of the server's Unix socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, "sock") }

// Dir returns the folder with the server's files.
func (s *Server) Dir() string { return s.dir }

// URL returns the server's URL as REDIS_URL has it: password and, with TLS, the
// authority and the client's certificate included.
func (s *Server) URL() string { return s.options.url(s.Addr(), s.certs) }

// CAFile, CertFile and KeyFile return paths of PEM files: the authority that
// signed the server's certificate, and a client's certificate and key; "" without TLS.
func (s *Server) CAFile() string {
	if s.certs == nil {
		return ""
	}
	return s.certs.ca
}

// CertFile returns the client's certificate; see CAFile.
func (s *Server) CertFile() string {
	if s.certs == nil {
		return ""
	}
	return s.certs.client
}

// KeyFile returns the key of the client's certificate; see CAFile.
func (s *Server) KeyFile() string {
	if s.certs == nil {
		return ""
	}
	return s.certs.clientKey
}

func (o Options) url(hosts string, c *certs) string {
	scheme, user, query := "redis", "", ""
	if o.Password != "" {
		user = ":" + o.Password + "@"
	}
	if o.TLS {
		scheme, query = "rediss", "?ca="+c.ca
		if o.ClientCert {
			query += "&cert=" + c.client + "&key=" + c.clientKey
		}
	}
	return scheme + "://" + user + hosts + query
}

// Pid returns the process id, 0 when the server does not run.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// Log returns the end of the server's log.
func (s *Server) Log() string {
	data, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	if len(data) > 4096 {
		data = data[len(data)-4096:]
	}
	return string(data)
}

// Restart starts the server again after Kill, with the same port, folder and
// configuration, and returns when it answers and has loaded its data.
func (s *Server) Restart() {
	s.t.Helper()
	if err := s.TryRestart(); err != nil {
		s.t.Fatalf("restarting redis-server: %v\n%s", err, s.Log())
	}
}

// TryRestart is Restart for other goroutines than the test's.
func (s *Server) TryRestart() error {
	s.mu.Lock()
	if s.cmd != nil {
		s.mu.Unlock()
		return fmt.Errorf("it runs already")
	}
	var out bytes.Buffer
	cmd := exec.Command(s.binary, append([]string{s.conf}, s.args...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		s.mu.Unlock()
		return err
	}
	exited := make(chan struct{})
	s.cmd, s.exited = cmd, exited
	s.mu.Unlock()
	go func() {
		cmd.Wait()
		close(exited)
	}()
	deadline := time.Now().Add(startWithin)
	for {
		_, err := s.Do("PING")
		if err == nil {
			return nil
		}
		select {
		case <-exited:
			s.mu.Lock()
			s.cmd = nil
			s.mu.Unlock()
			return fmt.Errorf("it ended: %s", out.String())
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no answer within %v: %w", startWithin, err)
		}
	}
}

// Kill kills the server with SIGKILL and returns when it is gone. It works on a
// frozen one too. Killing one that does not run does nothing.
func (s *Server) Kill() {
	s.t.Helper()
	s.TryKill()
}

// TryKill is Kill for other goroutines than the test's.
func (s *Server) TryKill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Kill()
	<-s.exited
	s.cmd = nil
}

// Freeze stops the process with SIGSTOP: its connections stay open and nothing
// is answered until Thaw.
func (s *Server) Freeze() {
	s.t.Helper()
	if err := s.TryFreeze(); err != nil {
		s.t.Fatalf("freezing redis-server: %v", err)
	}
}

// TryFreeze is Freeze for other goroutines than the test's.
func (s *Server) TryFreeze() error { return s.signal(signalFreeze) }

// Thaw lets a frozen process go on, with SIGCONT.
func (s *Server) Thaw() {
	s.t.Helper()
	if err := s.TryThaw(); err != nil {
		s.t.Fatalf("thawing redis-server: %v", err)
	}
}

// TryThaw is Thaw for other goroutines than the test's.
func (s *Server) TryThaw() error { return s.signal(signalThaw) }

func (s *Server) signal(sig os.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return fmt.Errorf("it does not run")
	}
	return s.cmd.Process.Signal(sig)
}

// Wait polls cond every 10 ms for at most 20 s.
func (s *Server) Wait(what string, cond func() bool) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain until %s\n%s", what, s.Log())
		}
	}
}
