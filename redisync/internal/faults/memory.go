//go:build linux

package faults

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tickgate/tickgate/redisync"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// measureMemory has 1, 8 and 32 nodes use the same keys, in both modes that remember
// nodes, and compares what Redis allocates.
func measureMemory(t redistest.T, _ time.Duration) []Figure {
	var figures []Figure
	for _, mode := range []Mode{Credit, Lease} {
		for _, nodes := range []int{1, 8, 32} {
			figures = append(figures, plain(fmt.Sprintf("%s, %d nodes", mode, nodes), fmt.Sprintf("%d bytes a key", keySize(t, mode, nodes))))
		}
	}
	return figures
}

func keySize(t redistest.T, mode Mode, nodes int) int64 {
	const keys = 1000
	server := redistest.Start(t, redistest.Options{})
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	transport, err := redisync.Dial(ctx, server.URL())
	if err != nil {
		t.Fatalf("no connection: %v", err)
	}
	defer transport.Close()
	p, err := redisync.PolicyOf(10_000, time.Second, 1000, time.Now().UnixMilli())
	if err != nil {
		t.Fatalf("no policy: %v", err)
	}
	calls := make([]redisync.Call, 16)
	replies := make([]redisync.Reply, len(calls))
	before := usedMemory(server)
	for node := range nodes {
		slot := redisync.Slot(fmt.Sprintf("node%04d", node))
		for k := 0; k < keys; k += len(calls) {
			for i := range calls {
				calls[i] = useOf(mode, KeyName(k+i), slot, p)
			}
			transport.Sync(ctx, calls, replies)
			for _, r := range replies {
				if r.Err != nil {
					t.Fatalf("a call failed: %v", r.Err)
				}
			}
		}
	}
	return (usedMemory(server) - before) / keys
}

// useOf is the call by which a node uses a key.
func useOf(mode Mode, apikey string, slot redisync.Slot, p redisync.Policy) redisync.Call {
	if mode == Lease {
		key, mark := redisync.LeaseKey(prefix, Endpoint, LimitName, apikey)
		return redisync.Call{Key: key, Mark: mark, Args: redisync.LeaseArgs{
			Slot: slot, Epoch: 1, Want: 10, Policy: p, Keep: 60_000, Lease: 60_000, MarkTTL: redisync.MarkTTL,
		}.Args()}
	}
	return redisync.Call{Key: redisync.BudgetKey(prefix, Endpoint, LimitName, apikey), Args: redisync.CreditArgs{
		Slot: slot, Epoch: 1, Total: 10, Policy: p, Keep: 60_000, Est: p.C, Debt: p.C,
	}.Args()}
}

func usedMemory(s *redistest.Server) int64 {
	for line := range strings.Lines(s.Text("INFO", "memory")) {
		if v, ok := strings.CutPrefix(line, "used_memory:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			return n
		}
	}
	return 0
}
