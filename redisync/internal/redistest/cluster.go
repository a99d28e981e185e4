package redistest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// slots is the number of a cluster's slots.
const slots = 16384

// Cluster is a running cluster. The first Masters of Nodes began as masters
// with equal shares of the slots; the rest as their replicas, in turn.
type Cluster struct {
	Nodes   []*Server
	Masters int
	t       T
	options Options
}

// StartCluster starts a cluster of so many masters, each with so many replicas,
// and returns when every node says that it is whole. Nodes are given up after
// 1 s, unless Config has another cluster-node-timeout.
func StartCluster(t T, masters, replicas int, o Options) *Cluster {
	t.Helper()
	Installed(t)
	if o.TLS {
		t.Fatalf("a cluster with TLS is not supported: every server has its own authority")
	}
	c := &Cluster{Masters: masters, t: t, options: o}
	o.Config = append([]string{
		"cluster-enabled yes", "cluster-config-file nodes.conf", "cluster-node-timeout 1000",
		"repl-diskless-sync yes", "repl-diskless-sync-delay 0",
	}, o.Config...)
	for range masters * (1 + replicas) {
		c.Nodes = append(c.Nodes, start(t, o, false))
	}
	for i, s := range c.Nodes {
		s.Must("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		if i < masters {
			addSlots(s, slots*i/masters, slots*(i+1)/masters)
		}
		if i > 0 {
			s.Must("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(c.Nodes[0].port))
		}
	}
	known := fmt.Sprintf("cluster_known_nodes:%d\r", len(c.Nodes))
	for _, s := range c.Nodes {
		s.Wait("every node is known", func() bool { return strings.Contains(s.clusterInfo(), known) })
	}
	for i, s := range c.Nodes[masters:] {
		id := c.Nodes[i%masters].Text("CLUSTER", "MYID")
		// The replica must have heard that the other is a master with slots.
		s.Wait("the replica may follow its master", func() bool {
			_, err := s.Do("CLUSTER", "REPLICATE", id)
			return err == nil
		})
	}
	c.WaitWhole()
	return c
}

// addSlots assigns slots from lo up to, not including, hi: one by one, since
// ranges are not known before Redis 7.
func addSlots(s *Server, lo, hi int) {
	args := []string{"CLUSTER", "ADDSLOTS"}
	for i := lo; i < hi; i++ {
		args = append(args, strconv.Itoa(i))
	}
	s.Must(args...)
}

func (s *Server) clusterInfo() string {
	v, _ := s.Do("CLUSTER", "INFO")
	text, _ := v.(string)
	return text
}

// WaitWhole waits until every node that runs says that all slots are served,
// and its replicas are in step.
func (c *Cluster) WaitWhole() {
	c.t.Helper()
	for _, s := range c.Nodes {
		if s.Pid() == 0 {
			continue
		}
		s.Wait("the cluster is whole", func() bool {
			if !strings.Contains(s.clusterInfo(), "cluster_state:ok") {
				return false
			}
			r := s.info("replication")
			return strings.Contains(r, "role:master") || strings.Contains(r, "master_link_status:up")
		})
	}
}

// URL returns a URL with the addresses of all nodes.
func (c *Cluster) URL() string {
	addrs := make([]string, len(c.Nodes))
	for i, s := range c.Nodes {
		addrs[i] = s.Addr()
	}
	return c.options.url(strings.Join(addrs, ","), nil)
}

// Owner returns the running node that serves the key as master now.
func (c *Cluster) Owner(key string) *Server {
	c.t.Helper()
	slot := c.Slot(key)
	for _, s := range c.Nodes {
		if s.Pid() == 0 {
			continue
		}
		ranges, err := s.Do("CLUSTER", "SLOTS")
		if err != nil {
			continue
		}
		for _, r := range ranges.([]any) {
			r := r.([]any)
			if slot < r[0].(int64) || slot > r[1].(int64) {
				continue
			}
			port := r[2].([]any)[1].(int64)
			for _, owner := range c.Nodes {
				if int64(owner.port) == port {
					return owner
				}
			}
		}
	}
	c.t.Fatalf("no node serves %q", key)
	return nil
}

// Slot returns the key's slot.
func (c *Cluster) Slot(key string) int64 {
	c.t.Helper()
	for _, s := range c.Nodes {
		if v, err := s.Do("CLUSTER", "KEYSLOT", key); err == nil {
			return v.(int64)
		}
	}
	c.t.Fatalf("no node of the cluster answers")
	return 0
}

// Failover makes the replica take over from its master, in order, and returns
// when it has. It waits until all nodes agree who serves what: a replica that has not
// heard of a slot that its master gave away would take that one too, without its keys.
func (c *Cluster) Failover(replica *Server) {
	c.t.Helper()
	replica.Wait("all nodes agree on the slots", func() bool {
		views := make(map[string]bool)
		for _, s := range c.Nodes {
			if s.Pid() != 0 {
				views[s.slotMap()] = true
			}
		}
		return len(views) == 1 && !views[""]
	})
	replica.Must("CLUSTER", "FAILOVER")
	replica.Wait("the replica has become master", func() bool {
		return strings.Contains(replica.info("replication"), "role:master")
	})
}

// Migrate moves one slot and its keys to another master while it is in use:
// keys move in batches, and each in one step.
func (c *Cluster) Migrate(slot int64, from, to *Server) {
	c.t.Helper()
	n := strconv.FormatInt(slot, 10)
	fromID, toID := from.Text("CLUSTER", "MYID"), to.Text("CLUSTER", "MYID")
	to.Must("CLUSTER", "SETSLOT", n, "IMPORTING", fromID)
	from.Must("CLUSTER", "SETSLOT", n, "MIGRATING", toID)
	for {
		keys, _ := from.Must("CLUSTER", "GETKEYSINSLOT", n, "16").([]any)
		if len(keys) == 0 {
			break
		}
		args := []string{"MIGRATE", "127.0.0.1", strconv.Itoa(to.port), "", "0", "5000"}
		if c.options.Password != "" {
			args = append(args, "AUTH", c.options.Password)
		}
		args = append(args, "KEYS")
		for _, k := range keys {
			args = append(args, k.(string))
		}
		from.Must(args...)
	}
	// The new owner must hear of it first, or its replicas could be asked for a slot nobody has.
	to.Must("CLUSTER", "SETSLOT", n, "NODE", toID)
	from.Must("CLUSTER", "SETSLOT", n, "NODE", toID)
	var wg sync.WaitGroup
	for _, s := range c.Nodes {
		wg.Go(func() { s.Do("CLUSTER", "SETSLOT", n, "NODE", toID) })
	}
	wg.Wait()
}

// slotMap returns who is master of what by what the node knows; "" where it does not
// answer.
func (s *Server) slotMap() string {
	ranges, err := s.Do("CLUSTER", "SLOTS")
	if err != nil {
		return ""
	}
	var all []string
	for _, r := range ranges.([]any) {
		r := r.([]any)
		all = append(all, fmt.Sprint(r[0], r[1], r[2].([]any)[1]))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}
