package redisync

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

func TestSlotsAreTheServers(t *testing.T) {
	for key, slot := range map[string]int{"123456789": 12739, "foo": 12182, "{foo}.x": 12182, "a{foo}b{c}": 12182} {
		require.Equal(t, slot, slotOf(key), key)
	}
	require.NotEqual(t, slotOf(""), slotOf("{}foo"))
	key, mark := LeaseKey("tickgate", "e{x}", "l", "k")
	require.Equal(t, slotOf(mark), slotOf(key))
}

func usedIn(c *redistest.Cluster, keys []string) (n int64) {
	for _, k := range keys {
		n += used(c.Owner(k), k)
	}
	return n
}

func TestTransportInACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers")
	}
	cluster := redistest.StartCluster(t, 3, 0, redistest.Options{Password: "p"})
	c := dialed(t, cluster.URL())
	require.Equal(t, 3, c.Lanes())
	keys := someKeys(24)
	lanes := map[int]*redistest.Server{}
	for _, k := range keys {
		require.Equal(t, int(cluster.Slot(k)), slotOf(k))
		owner := cluster.Owner(k)
		if known, ok := lanes[c.Lane(k)]; ok {
			require.Same(t, known, owner)
		}
		lanes[c.Lane(k)] = owner
	}
	require.Len(t, lanes, 3)

	// Slots move, scripts are forgotten and connections die under load.
	stop := traffic(t, c, keys, time.Second)
	for i, k := range keys[:6] {
		from := cluster.Owner(k)
		to := cluster.Nodes[(i+1)%3]
		if to == from {
			to = cluster.Nodes[(i+2)%3]
		}
		cluster.Migrate(cluster.Slot(k), from, to)
		to.Must("SCRIPT", "FLUSH")
		from.Must("CLIENT", "KILL", "TYPE", "normal")
	}
	y := stop()
	y.charged(t, usedIn(cluster, keys))
	for _, k := range keys {
		back(t, c, k)
	}

	key, mark := LeaseKey("tickgate", "e", "l", "x")
	r := c.Call(soon(t, time.Second), Call{Key: key, Mark: mark, Args: leaseOf(quick, 1).Args()})
	require.NoError(t, r.Err)
	refuses(t, cluster.URL()+"/1", "database 0 only")
	one := dialed(t, "redis://:p@"+cluster.Nodes[1].Addr())
	require.Equal(t, 3, one.Lanes(), "one address is enough")
}

func TestTransportThroughAFailoverOfACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("six servers")
	}
	cluster := redistest.StartCluster(t, 3, 1, redistest.Options{})
	c := dialed(t, cluster.URL())
	keys := someKeys(12)
	stop := traffic(t, c, keys, time.Second)
	time.Sleep(50 * time.Millisecond)
	cluster.Failover(cluster.Nodes[3]) // in order: nothing is lost
	y := stop()
	cluster.WaitWhole()
	y.charged(t, usedIn(cluster, keys))
	for _, k := range keys {
		back(t, c, k)
	}

	// A master is killed: its slots are served again within some seconds.
	master := cluster.Owner(keys[0])
	master.Kill()
	start := time.Now()
	back(t, c, keys[0])
	t.Logf("served again after %v", time.Since(start))
}

func TestTransportFollowsSentinels(t *testing.T) {
	if testing.Short() {
		t.Skip("five servers")
	}
	master := redistest.Start(t, redistest.Options{Password: "p"})
	replica := redistest.StartReplica(t, master, redistest.Options{Password: "p"})
	s := redistest.StartSentinels(t, "main", master, 3, 1)
	c := dialed(t, s.URL())
	require.Equal(t, 1, c.Lanes())
	syncs(t, c, credits(3))
	master.Kill()
	start := time.Now()
	require.Eventually(t, func() bool { return s.Port() == fmt.Sprint(replica.Port()) }, 15*time.Second, 20*time.Millisecond)
	back(t, c, "k")
	t.Logf("served again after %v", time.Since(start))
	require.NotEmpty(t, replica.Text("HGET", "k", "l"))
	master.Restart() // it comes back, and is made a replica
	back(t, c, "k")
}
