//go:build linux

package faults

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
	"github.com/tickgate/tickgate/redisync/admitted"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// Startup is a way in which Redis cannot be used from the beginning: New must say so
// soon, in one line with a word that leads to the cause.
type Startup struct {
	Name  string
	Words []string // of which the error must have one
	URL   func(t redistest.T) string
}

// StartWithin is how long New may take to give up.
const StartWithin = 6 * time.Second

// Startups returns all of them.
func Startups() []Startup {
	return []Startup{
		{"wrong password", []string{"password", "WRONGPASS", "NOAUTH"}, func(t redistest.T) string {
			s := redistest.Start(t, redistest.Options{Password: "right"})
			return strings.Replace(s.URL(), "right", "wrong", 1)
		}},
		{"no password", []string{"password", "NOAUTH"}, func(t redistest.T) string {
			s := redistest.Start(t, redistest.Options{Password: "right"})
			return "redis://" + s.Addr()
		}},
		{"user without permission", []string{"permission", "NOPERM"}, func(t redistest.T) string {
			s := redistest.Start(t, redistest.Options{ACL: []string{"user app on >secret ~tickgate:* +@all -evalsha -eval"}})
			return "redis://app:secret@" + s.Addr()
		}},
		{"nobody listens", []string{"refused", "reach"}, func(redistest.T) string { return "redis://127.0.0.1:1" }},
		{"TLS to a plain Redis", []string{"TLS", "tls"}, func(t redistest.T) string {
			s := redistest.Start(t, redistest.Options{})
			return "rediss://" + s.Addr()
		}},
		{"plain to a Redis with TLS", []string{"TLS", "tls", "rediss"}, func(t redistest.T) string {
			s := redistest.Start(t, redistest.Options{TLS: true})
			return "redis://" + s.Addr()
		}},
		{"unknown authority", []string{"certificate", "authority"}, func(t redistest.T) string {
			s := redistest.Start(t, redistest.Options{TLS: true})
			return "rediss://" + s.Addr()
		}},
		{"not a Redis", []string{"not a Redis", "not Redis", "protocol"}, func(t redistest.T) string {
			return "redis://" + pretend(t, func(string) string { return "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n" })
		}},
		{"says nothing", []string{"answer", "timeout", "deadline", "time"}, func(t redistest.T) string {
			return "redis://" + pretend(t, func(string) string { return "" })
		}},
		{"too old", []string{"too old", "5.0.7", "version"}, func(t redistest.T) string { return "redis://" + pretend(t, old) }},
		{"replica", []string{"READONLY", "read-only", "replica"}, func(t redistest.T) string {
			return "redis://" + redistest.StartReplica(t, redistest.Start(t, redistest.Options{}), redistest.Options{}).Addr()
		}},
		{"stopped", []string{"answer", "timeout", "deadline", "time"}, func(t redistest.T) string {
			s := redistest.Start(t, redistest.Options{})
			s.Freeze()
			return "redis://" + s.Addr()
		}},
	}
}

// Try starts a node and returns what it says, and how long that took.
func (s Startup) Try(t redistest.T) (error, time.Duration) {
	url := s.URL(t)
	gate, err := newGate(policy.Set{shared(Endpoint, 16, admitted.Limit{Tokens: 100, Per: time.Second, Capacity: 100})}, 100)
	if err != nil {
		t.Fatalf("no gate: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), StartWithin)
	defer cancel()
	begun := time.Now()
	sync, err := redisync.New(ctx, redisync.Config{
		Gate: gate, Clock: clock.Runtime(), URL: url, Prefix: prefix, Log: quiet, Policies: map[string]redisync.Mode{Endpoint: redisync.Credit},
	})
	took := time.Since(begun)
	if err == nil {
		sync.Close(ctx)
	}
	return err, took
}

// Judge says what is wrong with an error and the time it took.
func (s Startup) Judge(err error, took time.Duration) error {
	switch {
	case err == nil:
		return fmt.Errorf("New found nothing wrong")
	case took > StartWithin+time.Second:
		return fmt.Errorf("New took %v, more than %v", took, StartWithin)
	case strings.ContainsAny(err.Error(), "\n"):
		return fmt.Errorf("the error has several lines: %q", err)
	}
	for _, word := range s.Words {
		if strings.Contains(err.Error(), word) {
			return nil
		}
	}
	return fmt.Errorf("the error has none of %q: %q", s.Words, err)
}

// pretend answers each line, or each message of the protocol, of a connection as said.
func pretend(t redistest.T, answer func(request string) string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("no listener: %v", err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					request, err := readMessage(r, nil)
					if err != nil {
						return
					}
					c.Write([]byte(answer(strings.ToUpper(string(request)))))
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// old is a Redis of version 5.
func old(request string) string {
	info := "# Server\r\nredis_version:5.0.7\r\nredis_mode:standalone\r\nrole:master\r\n"
	switch command([]byte(request)) {
	case "PING":
		return "+PONG\r\n"
	case "INFO":
		return fmt.Sprintf("$%d\r\n%s\r\n", len(info), info)
	case "CLIENT", "SELECT", "AUTH":
		return "+OK\r\n"
	}
	return "-ERR unknown command, with args beginning with: \r\n"
}
