package pgconfig

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// channel is where changes are announced, with the name of the table as payload.
	channel = "config_updates"
	table   = "rate_limit_config"

	idle     = 30 * time.Second      // without a notification, after which the connection is tested
	debounce = 50 * time.Millisecond // from the first notification to the reading, for more to come
	retry    = 5 * time.Second       // after a reading that failed on a connection that lives
	steady   = idle                  // a connection that lived so long starts the delays anew

	firstDelay = 100 * time.Millisecond // before connecting again
	lastDelay  = 30 * time.Second
)

// Run follows the table until ctx is done: on one connection of its own, which it
// makes anew, after 100 ms to 30 s, whenever it is lost.
func (p *Postgres) Run(ctx context.Context, changed func()) {
	p.follow(changed)
	delay := firstDelay
	for ctx.Err() == nil {
		began := time.Now()
		p.session(ctx)
		if time.Since(began) >= steady {
			delay = firstDelay
		}
		delay = min(2*delay, lastDelay)
		sleep(ctx, jitter(delay))
	}
}

// jitter returns a time from half of d to d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// sleep waits for d, or until ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// session follows the table on one connection until that is lost, or ctx done. The
// fault is noted.
func (p *Postgres) session(ctx context.Context) {
	s, err := p.dial(ctx)
	if err != nil {
		_ = p.failed(ctx, err)
		return
	}
	defer s.close()
	p.update(func(st *Stats) { st.Connected = true; st.Connects++ })
	f := follower{p: p, s: s}
	err = f.start(ctx)
	for err == nil {
		if p.deaf {
			err = f.look(ctx)
		} else {
			err = f.hear(ctx)
		}
	}
	p.update(func(s *Stats) { s.Connected, s.Listening = false, false })
	if !f.noted {
		_ = p.failed(ctx, err)
	}
}

// follower is the following of the table on one connection.
type follower struct {
	p     *Postgres
	s     session
	seen  string    // version that was read last, good or not
	due   time.Time // when the table is read at the latest
	noted bool      // the error that ended it is counted already
}

// start listens before it reads: a change is then either read or announced.
func (f *follower) start(ctx context.Context) error {
	p := f.p
	if !p.deaf {
		if err := f.s.listen(ctx, channel); broken(f.s, err) {
			return err
		} else if err != nil {
			p.goDeaf("PostgreSQL refuses LISTEN", explain(err))
		}
	}
	if err := f.reload(ctx); err != nil {
		return err
	}
	if !p.deaf && !p.probed {
		if err := f.probe(ctx); err != nil {
			return err
		}
	}
	p.update(func(s *Stats) { s.Listening = !p.deaf })
	return nil
}

// reload reads the table. The error is one of the connection.
func (f *follower) reload(ctx context.Context) error {
	version, err := f.p.reload(ctx, f.s)
	if broken(f.s, err) && version == "" {
		f.noted = true
		return err
	}
	f.due = time.Now().Add(f.p.cfg.Resync)
	if f.seen = version; version == "" {
		f.due = time.Now().Add(min(retry, f.p.cfg.Resync))
	}
	return nil
}

// hear waits for one notification, or for its absence.
func (f *follower) hear(ctx context.Context) error {
	n, err := f.s.wait(ctx, min(idle, time.Until(f.due)))
	if err != nil {
		return err
	}
	if f.concerns(n) {
		for end := time.Now().Add(debounce); n != nil; {
			if n, err = f.s.wait(ctx, time.Until(end)); err != nil {
				return err
			}
			f.concerns(n)
		}
		return f.reload(ctx)
	}
	switch {
	case time.Until(f.due) <= 0:
		return f.reload(ctx)
	case n == nil:
		return f.s.ping(ctx)
	}
	return nil
}

// concerns counts a notification and reports whether it is of our table. One that
// names something else is for others on the same channel.
func (f *follower) concerns(n *pgconn.Notification) bool {
	if n == nil {
		return false
	}
	f.p.update(func(s *Stats) { s.Notifications++ })
	return n.Channel == channel && (n.Payload == "" || strings.Contains(n.Payload, table))
}

// look asks for the version once.
func (f *follower) look(ctx context.Context) error {
	sleep(ctx, min(f.p.cfg.Poll, time.Until(f.due)))
	if err := ctx.Err(); err != nil {
		return err
	}
	if time.Until(f.due) <= 0 {
		return f.reload(ctx)
	}
	version, err := f.s.version(ctx)
	switch {
	case broken(f.s, err):
		return err
	case err != nil: // the reading that is due will say so
		return nil
	case version != f.seen && f.seen != "":
		return f.reload(ctx)
	}
	return nil
}
