//go:build linux

package faults

import (
	"github.com/tickgate/tickgate/redisync"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// servers returns all servers, dead ones too.
func (b *Bench) servers() []*redistest.Server {
	if b.Cluster != nil {
		return b.Cluster.Nodes
	}
	return []*redistest.Server{b.Redis}
}

func (b *Bench) addrs() (addrs []string) {
	for _, s := range b.servers() {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// masters returns the servers that run and are no replicas.
func (b *Bench) masters() (masters []*redistest.Server) {
	for _, s := range b.servers() {
		if s.Pid() == 0 {
			continue
		}
		if role := s.Must("ROLE").([]any); role[0] == "master" {
			masters = append(masters, s)
		}
	}
	return masters
}

// all runs a command on every master.
func (b *Bench) all(command ...string) {
	for _, s := range b.masters() {
		s.Must(command...)
	}
}

// key returns the name in Redis of a key's budget.
func (b *Bench) key(i int) string {
	if b.scenario.Mode == Lease {
		key, _ := redisync.LeaseKey(prefix, Endpoint, LimitName, KeyName(i))
		return key
	}
	return redisync.BudgetKey(prefix, Endpoint, LimitName, KeyName(i))
}

// owner returns the server that has the budget of the first key.
func (b *Bench) owner() *redistest.Server {
	if b.Cluster == nil {
		return b.Redis
	}
	return b.Cluster.Owner(b.key(0))
}

// replicaOf returns a master's replica.
func (b *Bench) replicaOf(master *redistest.Server) *redistest.Server {
	for _, s := range b.servers() {
		role := s.Must("ROLE").([]any)
		if role[0] == "slave" && role[2] == int64(master.Port()) {
			return s
		}
	}
	b.T.Fatalf("%s: the master has no replica", b.scenario.Name)
	return nil
}
