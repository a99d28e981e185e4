package service

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate/adapter/pgconfig"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/admin"
)

// Reloadable is something beside the policies that is read again on a signal: a file of
// keys, a certificate. Its last good content stays in force.
type Reloadable struct {
	name string
	load func() (version string, err error)
	log  *slog.Logger

	reading sync.Mutex                   // held while load runs, which may hang
	noting  sync.Mutex                   // of those who write now, for an instant
	now     atomic.Pointer[admin.Source] // what it points to is not changed; read without a lock
}

// NewReloadable returns what was read once already, as version. load reads it again and
// puts it into force, or returns why not.
func NewReloadable(name, version string, log *slog.Logger, load func() (version string, err error)) *Reloadable {
	r := &Reloadable{name: name, load: load, log: log}
	r.now.Store(&admin.Source{Name: name, Version: version, Applied: 1, LastSuccess: time.Now()})
	return r
}

// errHangs is the fault of a reading that takes too long. It may still end well.
var errHangs = errors.New("reading takes too long, as of a file on a mount that does not answer; what was read before stays until it ends")

// Reload reads it again, and returns when that is done or ctx is. One that hangs goes on by
// itself; until it ends, later ones do not begin.
func (r *Reloadable) Reload(ctx context.Context) {
	if !r.reading.TryLock() {
		r.refused(errHangs)
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.reading.Unlock()
		version, err := r.load()
		if err != nil {
			r.refused(err)
			return
		}
		r.note(func(s *admin.Source) {
			s.Applied++
			s.Version, s.LastSuccess, s.LastError = version, time.Now(), nil
		})
		r.log.Info("read again", "source", r.name, "version", version)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		select {
		case <-done:
		default:
			r.refused(errHangs)
		}
	}
}

// refused notes why what was good stays.
func (r *Reloadable) refused(err error) {
	r.note(func(s *admin.Source) {
		s.Refused++
		s.LastError = err
	})
	r.log.Error("not read again, what was good stays", "source", r.name, "error", err)
}

func (r *Reloadable) note(change func(*admin.Source)) {
	r.noting.Lock()
	defer r.noting.Unlock()
	next := *r.now.Load()
	change(&next)
	r.now.Store(&next)
}

// source is what is shown of it. It does not wait for a reading.
func (r *Reloadable) source() admin.Source { return *r.now.Load() }

// Watch has something read again by Reload, and shown beside the policies. Call it
// before Run.
func (c *Core) Watch(r *Reloadable) { c.orders = append(c.orders, r) }

// reloadWithin is how long reading again is waited for.
const reloadWithin = 30 * time.Second

// Reload reads everything again: policies and whatever else is watched. What is good
// comes into force, and of what is not the last good content stays; the log and the
// admin port tell. One that hangs keeps no other one from being read.
func (c *Core) Reload(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reloadWithin)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	for _, r := range c.orders {
		all.Go(func() { r.Reload(ctx) })
	}
	if c.cfg.Layers == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.reloadLayers(ctx)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// reloadLayers reads the policies. A file on a mount that does not answer may hold it up for
// longer than ctx.
func (c *Core) reloadLayers(ctx context.Context) {
	if err := c.cfg.Layers.Reload(ctx); err != nil { // each fault was logged by its source
		c.cfg.Log.Warn("policies were read again, and not all are good", "version", c.Version())
		return
	}
	c.cfg.Log.Info("policies were read again", "version", c.Version())
}

// sources are what is read again, as the admin port shows them.
func (c *Core) sources() (all []admin.Source) {
	if c.cfg.Layers != nil {
		for _, s := range c.cfg.Layers.Stats() {
			all = append(all, admin.Source{
				Name: s.Source, Version: s.Version, Policies: s.Policies, Connection: connection(&s),
				Applied:     s.Reloads[pgconfig.Changed],
				Refused:     s.Reloads[pgconfig.Rejected] + s.Reloads[pgconfig.Failed],
				LastSuccess: s.LastSuccess, LastError: s.LastError,
			})
		}
	}
	for _, r := range c.orders {
		all = append(all, r.source())
	}
	return all
}

// connection says how a source hears of changes, if it does by a connection.
func connection(s *pgconfig.Stats) string {
	switch {
	case s.Source != "postgresql":
		return ""
	case s.Listening:
		return "listening"
	case s.Connected:
		return "polling"
	}
	return "not connected"
}
