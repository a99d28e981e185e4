//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync/admitted"
)

// Endpoint is the policy that all nodes share, and LimitName its limit.
const (
	Endpoint  = "order.new"
	LimitName = "budget"
)

// pinnedKeys is the most keys for which a node holds handles. More are looked up by
// name at every decision, so that they can be evicted.
const pinnedKeys = 64

// Mode says how a node's budget is shared.
type Mode string

// The modes of redisync, and one that shares nothing, to see what the harness says
// of it.
const (
	Credit Mode = "credit"
	Lease  Mode = "lease"
	Strict Mode = "strict"
	Apart  Mode = "apart"
)

// Setup says what one node is. It is plain data, to be handed to another process.
type Setup struct {
	Index int  // 0 for the first node
	Nodes int  // of the whole
	First bool // it was there before anybody used anything

	URL string // of the Redis servers, or of the link to them

	Mode     Mode
	Limit    admitted.Limit
	Credit   int64
	Interval time.Duration // of syncs; 0: the default
	MaxAge   time.Duration // beyond which a view is not trusted; 0: the default
	Away     string        // what holds while Redis is away: "", share, open or closed
	Deadline time.Duration // of strict calls; 0: the default

	Load   Load
	Events int    // admissions that the log has room for
	Path   string // of the log; empty: memory
}

// Report is what a node says of itself in the end.
type Report struct {
	Stats  Stats
	Failed string // what Close said
}

// Player is a node, here or in a process of its own.
type Player interface {
	Begin() error                              // lets the load run
	End() error                                // ends it and waits for it
	Stats() (Stats, error)                     // of the reconciler
	Close(ctx context.Context) (Report, error) // the reconciler's Close; nothing after it
	Log() (*Log, error)                        // after End
}

// Node is a gate and its reconciler, with a load, in goroutines of this process.
type Node struct {
	setup Setup
	gate  *tickgate.Gate
	sync  reconciler
	log   *Log
	keys  []string
	held  []tickgate.Handle

	stop context.CancelFunc
	wg   sync.WaitGroup
}

// reconciler is what a node uses of one.
type reconciler interface {
	Take(ctx context.Context, apikey, endpoint string, n int64) (tickgate.Decision, error)
	Stats() Stats
	Close(ctx context.Context) error
}

// policies is the set that a node's gate has.
func (s *Setup) policies() policy.Set {
	return policy.Set{{
		Endpoint: Endpoint, Credit: s.Credit,
		Limits: []policy.Limit{{Name: LimitName, Tokens: s.Limit.Tokens, Per: s.Limit.Per, Burst: s.Limit.Capacity}},
	}}
}

// Start makes a node and connects it. Its load waits for Begin.
func Start(ctx context.Context, s Setup) (*Node, error) {
	gate, err := tickgate.New(tickgate.Config{
		Policies: s.policies(), MaxKeys: max(1000, 2*s.Load.Keys), Clock: clock.Runtime(),
	})
	if err != nil {
		return nil, err
	}
	return startAt(ctx, s, gate)
}

func startAt(ctx context.Context, s Setup, gate *tickgate.Gate) (*Node, error) {
	n := &Node{setup: s, gate: gate}
	var err error
	if n.log, err = NewLog(s.Path, s.Events); err != nil {
		return nil, err
	}
	if s.Mode != Apart {
		if n.sync, err = join(ctx, s, gate); err != nil {
			return nil, errors.Join(fmt.Errorf("faults: node %d: %w", s.Index, err), n.log.Close())
		}
	}
	n.keys = make([]string, max(1, s.Load.Keys))
	for i := range n.keys {
		n.keys[i] = KeyName(i)
	}
	if len(n.keys) <= pinnedKeys && s.Mode != Strict {
		for _, key := range n.keys {
			h, err := gate.Handle(key, Endpoint)
			if err != nil {
				return nil, fmt.Errorf("faults: node %d: %w", s.Index, err)
			}
			n.held = append(n.held, h)
		}
	}
	return n, nil
}

// KeyName returns the apikey of a key's number.
func KeyName(i int) string { return fmt.Sprintf("key-%d", i) }

// Begin lets the load run.
func (n *Node) Begin() error {
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	n.wg.Go(func() { n.setup.Load.Run(ctx, uint64(n.setup.Index)+1, n.log, n.taker(ctx)) })
	return nil
}

// taker returns how the node decides.
func (n *Node) taker(ctx context.Context) func(key int) bool {
	switch {
	case n.setup.Mode == Strict:
		return func(key int) bool {
			d, err := n.sync.Take(ctx, n.keys[key], Endpoint, 1)
			return err == nil && d.Allowed
		}
	case n.held != nil:
		return func(key int) bool { return n.held[key].Allow() }
	}
	e := n.gate.Endpoint(Endpoint)
	return func(key int) bool { return e.Allow(n.keys[key]) }
}

// End ends the load.
func (n *Node) End() error {
	if n.stop != nil {
		n.stop()
	}
	n.wg.Wait()
	return nil
}

// Stats returns what the reconciler counts.
func (n *Node) Stats() (Stats, error) {
	if n.sync == nil {
		return Stats{}, nil
	}
	return n.sync.Stats(), nil
}

// Close has the reconciler flush and leave.
func (n *Node) Close(ctx context.Context) (Report, error) {
	for _, h := range n.held {
		h.Release()
	}
	if n.sync == nil {
		return Report{}, nil
	}
	r := Report{}
	if err := n.sync.Close(ctx); err != nil {
		r.Failed = err.Error()
	}
	r.Stats = n.sync.Stats()
	return r, nil
}

// Log returns what the node admitted.
func (n *Node) Log() (*Log, error) { return n.log, nil }
