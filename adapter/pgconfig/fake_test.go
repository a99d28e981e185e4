package pgconfig

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// server is a PostgreSQL that lives in a bubble of testing/synctest: a table, its
// version, and connections that are told of notifications.
type server struct {
	mu       sync.Mutex
	rows     []row
	version  int
	noRow    bool  // the version row is gone
	refuse   error // of dialing
	noListen error
	loadErr  error
	deaf     bool          // like a pooler: notifications do not arrive
	frozen   bool          // pings and loads fail after their time-out
	noProbe  bool          // only those of the table's channel arrive
	slow     time.Duration // of a notification from a session
	most     int           // connections at a time; 0: any
	open     []*fakeSession
	calls    []string // what was done, with the time since the start
	began    time.Time
}

func newServer(rows ...row) *server { return &server{rows: rows, version: 1, began: time.Now()} }

func (s *server) note(what string) {
	s.calls = append(s.calls, what+" "+time.Since(s.began).String())
}

// count returns how often something was done.
func (s *server) count(what string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if strings.HasPrefix(c, what+" ") {
			n++
		}
	}
	return n
}

// take returns what was done since it was called last.
func (s *server) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// set changes the table as a statement does, with a notification.
func (s *server) set(rows ...row) {
	s.quietly(rows...)
	s.notify(channel, table)
}

// quietly changes the table; the notification is lost.
func (s *server) quietly(rows ...row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = rows
	s.version++
}

func (s *server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *server) notify(channel, payload string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.open {
		if c.channels[channel] && !s.deaf && (channel == "config_updates" || !s.noProbe) {
			c.heard <- &pgconn.Notification{Channel: channel, Payload: payload}
		}
	}
}

// kill ends all connections.
func (s *server) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.open {
		close(c.dead)
	}
	s.open = nil
}

func (s *server) dial(context.Context) (session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note("dial")
	if s.refuse != nil {
		return nil, s.refuse
	}
	if s.most > 0 && len(s.open) == s.most {
		return nil, errors.New("too many clients already")
	}
	c := &fakeSession{s: s, channels: map[string]bool{}, heard: make(chan *pgconn.Notification, 10_000), dead: make(chan struct{})}
	s.open = append(s.open, c)
	return c, nil
}

type fakeSession struct {
	s        *server
	channels map[string]bool
	heard    chan *pgconn.Notification
	dead     chan struct{}
}

var errReset = errors.New("connection reset by peer")

func (c *fakeSession) lost() bool {
	select {
	case <-c.dead:
		return true
	default:
		return false
	}
}

// call is what every round trip begins with.
func (c *fakeSession) call(what string) error {
	if c.lost() {
		return errReset
	}
	c.s.mu.Lock()
	c.s.note(what)
	frozen := c.s.frozen
	c.s.mu.Unlock()
	if frozen {
		time.Sleep(callWithin) // of the bubble
		return context.DeadlineExceeded
	}
	return nil
}

func (c *fakeSession) listen(_ context.Context, channel string) error {
	if err := c.call("listen"); err != nil {
		return err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.noListen != nil {
		return c.s.noListen
	}
	c.channels[channel] = true
	return nil
}

func (c *fakeSession) unlisten(_ context.Context, channel string) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	delete(c.channels, channel)
	return nil
}

func (c *fakeSession) notify(_ context.Context, channel string) error {
	time.Sleep(c.s.slow) // of the bubble
	c.s.notify(channel, "")
	return nil
}

func (c *fakeSession) wait(ctx context.Context, d time.Duration) (*pgconn.Notification, error) {
	if d <= 0 {
		return nil, nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case n := <-c.heard:
		return n, nil
	case <-c.dead:
		return nil, errReset
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-t.C:
		return nil, nil
	}
}

func (c *fakeSession) ping(context.Context) error { return c.call("ping") }

func (c *fakeSession) version(context.Context) (string, error) {
	if err := c.call("version"); err != nil {
		return "", err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return strconv.Itoa(c.s.version), nil
}

func (c *fakeSession) load(_ context.Context, most int) (string, []row, error) {
	if err := c.call("load"); err != nil {
		return "", nil, err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	switch {
	case c.s.loadErr != nil:
		return "", nil, c.s.loadErr
	case c.s.noRow:
		return "", nil, errNoVersion
	}
	return strconv.Itoa(c.s.version), c.s.rows[:min(len(c.s.rows), most+1)], nil
}

func (c *fakeSession) close() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for i, other := range c.s.open {
		if other == c {
			c.s.open = append(c.s.open[:i], c.s.open[i+1:]...)
			return
		}
	}
}

// book is a log that can be looked at.
type book struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *book) count(what string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), what)
}

func (b *book) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// quiet is a logger for tests that look at no log.
func quiet(testing.TB) *slog.Logger { return slog.New(slog.DiscardHandler) }
