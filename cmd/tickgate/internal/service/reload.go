package service

import (
	"context"
	"log/slog"
	"sync"
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

	mu  sync.Mutex
	now admin.Source
}

// NewReloadable returns what was read once already, as version. load reads it again and
// puts it into force, or returns why not.
func NewReloadable(name, version string, log *slog.Logger, load func() (version string, err error)) *Reloadable {
	return &Reloadable{name: name, load: load, log: log, now: admin.Source{Name: name, Version: version, Applied: 1, LastSuccess: time.Now()}}
}

// Reload reads it again.
func (r *Reloadable) Reload() {
	r.mu.Lock()
	defer r.mu.Unlock()
	version, err := r.load()
	r.now.LastError = err
	if err != nil {
		r.now.Refused++
		r.log.Error("not read again, what was good stays", "source", r.name, "error", err)
		return
	}
	r.now.Applied++
	r.now.Version, r.now.LastSuccess = version, time.Now()
	r.log.Info("read again", "source", r.name, "version", version)
}

func (r *Reloadable) source() admin.Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// Watch has something read again by Reload, and shown beside the policies. Call it
// before Run.
func (c *Core) Watch(r *Reloadable) { c.orders = append(c.orders, r) }

// Versioned has the version of the policies be that of r, which is watched too.
func (c *Core) Versioned(r *Reloadable) {
	c.last = r
	c.Watch(r)
}

// reloadWithin is how long reading the policies again may take.
const reloadWithin = 30 * time.Second

// Reload reads everything again: policies and whatever else is watched. What is good
// comes into force, and of what is not the last good content stays; the log and the
// admin port tell.
func (c *Core) Reload(ctx context.Context) {
	ctx, done := context.WithTimeout(ctx, reloadWithin)
	defer done()
	for _, r := range c.orders {
		r.Reload()
	}
	if c.cfg.Layers == nil {
		return
	}
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
