// Package redisserver starts a redis-server of its own, for programs that show or measure
// something on a real one.
package redisserver

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// ErrNotInstalled is the error of [Start] where there is no redis-server in the path.
var ErrNotInstalled = errors.New("redis-server is not installed; on Debian: apt-get install redis-server")

// patience is how long a server may take to start.
const patience = 5 * time.Second

// Start starts a server that keeps nothing, on a socket in a folder of its own, and returns
// its URL. stop ends it and removes the folder. What it logs as a warning goes to logs; nil:
// nowhere.
func Start(logs io.Writer) (url string, stop func(), err error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", nil, ErrNotInstalled
	}
	dir, err := os.MkdirTemp("", "tickgate-redis-")
	if err != nil {
		return "", nil, err
	}
	socket := filepath.Join(dir, "redis.sock")
	c := exec.Command(path, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no", "--loglevel", "warning")
	c.Stdout, c.Stderr = logs, logs
	if err := c.Start(); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	stop = func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
		_ = os.RemoveAll(dir)
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		// The file is there before anybody listens on it.
		if conn, err := net.Dial("unix", socket); err == nil {
			_ = conn.Close()
			return "unix://" + socket, stop, nil
		}
		if time.Now().After(end) {
			stop()
			return "", nil, errors.New("redis-server did not start within " + patience.String())
		}
	}
}
