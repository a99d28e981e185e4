package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/redisync"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// memory is what a server says of its memory.
func memory(s *redistest.Server) (n int) {
	for line := range strings.Lines(s.Text("INFO", "memory")) {
		fmt.Sscanf(line, "used_memory:%d", &n)
	}
	return n
}

// The formula is what a server allocates.
func TestFootprint(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	transport, err := redisync.Dial(t.Context(), srv.URL())
	require.NoError(t, err)
	defer transport.Close()
	p, err := redisync.PolicyOf(10_000, time.Second, 1000, 1_790_000_000_000)
	require.NoError(t, err)
	name := func(k int) string { return redisync.BudgetKey("tickgate", "order.new", "limit", fmt.Sprint("key", k)) }
	use := func(first, keys, from, to int) {
		calls, replies := make([]redisync.Call, 16), make([]redisync.Reply, 16)
		for n := from; n < to; n++ {
			for k := 0; k < keys; k += len(calls) {
				for i := range calls {
					calls[i] = redisync.Call{Key: name(first + k + i), Args: redisync.CreditArgs{
						Slot: redisync.Slot(fmt.Sprintf("node%04d", n)), Epoch: 100, Total: 12_345, Base: 0, Policy: p, Keep: 60_000, Est: p.C, Debt: 1 << 50,
					}.Args()}
				}
				transport.Sync(t.Context(), calls, replies)
				for _, r := range replies {
					require.NoError(t, r.Err)
				}
			}
		}
	}
	use(1<<20, 1024, 0, 1) // what the server allocates once, tables included
	const keys = 1024
	before, from := memory(srv), 0
	for _, nodes := range []int{1, 2, 8, 32} {
		use(0, keys, from, nodes)
		from = nodes
		usage := Footprint(name(0), p, Field{"node0000", 100, 12_345, time.Now().Unix()}, nodes)
		all := (memory(srv) - before) / keys
		t.Logf("%d nodes: %d; grown by %d", nodes, usage, all)
		require.EqualValues(t, usage, srv.Must("MEMORY", "USAGE", name(0), "SAMPLES", "0"), "%d nodes", nodes)
		require.InDelta(t, usage+90, all, 50, "%d nodes: expiry and tables", nodes)
	}
	if testing.Short() {
		return
	}
	for _, nodes := range []int{100, 300, 507, 508, 1000} {
		use(0, 16, from, nodes)
		from = nodes
		usage := Footprint(name(0), p, Field{"node0000", 100, 12_345, time.Now().Unix()}, nodes)
		t.Logf("%d nodes: %d", nodes, usage)
		require.InEpsilon(t, usage, srv.Must("MEMORY", "USAGE", name(0), "SAMPLES", "0"), .01, "%d nodes", nodes)
	}
}
