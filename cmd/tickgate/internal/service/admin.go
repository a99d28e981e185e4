package service

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tickgate/tickgate/idem"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/admin"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/doctor"
)

// AdminConfig is what the admin port needs beside the core.
type AdminConfig struct {
	Name       func(caller string) string // as admin.Config has it
	AllowHosts []string
	Version    string // of the program

	Sampled     bool                   // decisions are made by Core.Take
	Idempotency func() idem.StoreStats // nil: there is no store of results
	Collectors  []prometheus.Collector
}

// Admin makes the handler of the admin port.
func (c *Core) Admin(cfg AdminConfig) (http.Handler, error) {
	own := admin.Config{
		Gate: c.Gate, GateName: c.cfg.Name, Beside: c.beside, Denials: c.Denials, History: c.History, Changes: c.Changes, Ready: c.Ready, Log: c.cfg.Log,
		Name: cfg.Name, AllowHosts: cfg.AllowHosts, Version: cfg.Version, PolicyVersion: c.Version,
		Idempotency: cfg.Idempotency, Sources: c.sources, Collectors: cfg.Collectors,
		Table: c.table, Pages: pages, Now: c.cfg.Now,
	}
	if cfg.Sampled {
		own.Sampler = c.Sampler
	}
	if c.sync != nil {
		own.Sync, own.Elsewhere = c.syncStats, c.elsewhere()
	}
	return admin.New(own)
}

// table is of all gates.
func (c *Core) table() admin.Table {
	t := c.Gate.Table()
	all := admin.Table{Slots: t.Slots, Shards: t.Shards, Bytes: t.Bytes, OffHeap: t.OffHeap, Huge: t.Huge}
	for _, b := range c.beside {
		t := b.Gate.Table()
		all.Slots += t.Slots
		all.Shards = append(all.Shards, t.Shards...)
		all.Bytes += t.Bytes
	}
	return all
}

func pages() admin.Pages {
	setting, anonymous, huge := doctor.Memory()
	return admin.Pages{Setting: setting, Anonymous: anonymous, Huge: huge}
}
