package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// T is what of testing.TB this package uses, so that a program can stand in.
type T interface {
	Helper()
	Cleanup(func())
	Logf(format string, args ...any)
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Options says what kind of server to start. The zero value is a plain server
// without password and persistence.
type Options struct {
	// Password of the default user; "" for none.
	Password string
	// ACL are further users as an ACL file has them, such as
	// "user app on >secret ~tickgate:* +@all".
	ACL []string
	// TLS: only TLS is spoken, with certificates made for this server.
	TLS bool
	// ClientCert: clients must show the certificate of Server.CertFile.
	ClientCert bool
	// AOF: every write is on disk before it is answered, so that Kill and
	// Restart lose nothing.
	AOF bool
	// Config are further lines of redis.conf, which win over the ones above.
	Config []string
}

// Installed returns the path of the server's binary, or skips the test.
func Installed(t T) string {
	t.Helper()
	names := []string{"redis-server", "valkey-server"}
	if own := os.Getenv("TICKGATE_REDIS_SERVER"); own != "" {
		names = []string{own}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed: install redis-server, or name one in TICKGATE_REDIS_SERVER", names[0])
	return ""
}

// write makes redis.conf, and what it refers to, in dir.
func (o Options) write(dir string, port int, certs *certs) (string, error) {
	lines := []string{
		"bind 127.0.0.1",
		"protected-mode no",
		"daemonize no",
		"dir " + dir,
		"logfile " + filepath.Join(dir, "log"),
		"unixsocket " + filepath.Join(dir, "sock"),
		`save ""`,
	}
	if o.AOF {
		lines = append(lines, "appendonly yes", "appendfsync always")
	}
	if o.TLS {
		auth := "no"
		if o.ClientCert {
			auth = "yes"
		}
		lines = append(lines, "port 0", fmt.Sprintf("tls-port %d", port),
			"tls-cert-file "+certs.server, "tls-key-file "+certs.serverKey, "tls-ca-cert-file "+certs.ca,
			"tls-auth-clients "+auth, "tls-replication yes")
	} else {
		lines = append(lines, fmt.Sprintf("port %d", port))
	}
	if len(o.ACL) > 0 {
		users := o.ACL
		if o.Password != "" {
			users = append([]string{"user default on >" + o.Password + " ~* &* +@all"}, users...)
		}
		path := filepath.Join(dir, "users.acl")
		if err := os.WriteFile(path, []byte(strings.Join(users, "\n")+"\n"), 0o600); err != nil {
			return "", err
		}
		lines = append(lines, "aclfile "+path)
	} else if o.Password != "" {
		lines = append(lines, "requirepass "+o.Password)
	}
	if o.Password != "" {
		lines = append(lines, "masterauth "+o.Password)
	}
	path := filepath.Join(dir, "redis.conf")
	lines = append(lines, o.Config...)
	return path, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}
