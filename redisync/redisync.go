package redisync

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// Sync shares the budgets of a gate with other processes through Redis. Make one with
// [New]. Its methods may be called from any goroutine.
//
// Decisions are made by the gate, which never waits for a Sync: use the gate and its
// handles as without. Only policies in Strict mode are asked for by Take.
type Sync struct {
	gate   *tickgate.Gate
	engine *engine
	remote *remote
	own    Transport // made by New; nil: another's

	decided func(endpoint string, d *tickgate.Decision) // Ledger.Decided; nil in tests

	closing chan struct{} // closed by Close
	done    chan struct{} // closed by the loop when all is told
	stop    context.CancelFunc
	ended   chan struct{} // closed when the loop has returned
	once    sync.Once
	err     error // of Close
}

// How long New and Close take at most where their context has no deadline. Redis is
// asked no longer than that.
const (
	mostJoin  = 10 * time.Second
	mostLeave = 10 * time.Second
)

// New joins the processes that share budgets, and shares those of cfg.Gate. It reports
// every fault of cfg at once. Then it asks Redis, for 10 s at most or until ctx ends,
// and reports what is wrong with it: so a process does not start without the Redis it is
// to share by, but goes on without it if it goes away later.
//
// It starts one goroutine, and up to 64 that wait for Redis; Close ends them.
func New(ctx context.Context, cfg Config) (*Sync, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, mostJoin)
	defer cancel()
	var own Transport
	if cfg.Transport == nil {
		client, err := Dial(ctx, cfg.URL)
		if err != nil {
			return nil, err
		}
		own, cfg.Transport = client, client
	}
	s, err := join(ctx, cfg)
	if err != nil {
		if own != nil {
			own.Close()
		}
		return nil, err
	}
	s.own = own
	go s.run()
	return s, nil
}

// join says to Redis that this node is there, and takes over the gate's budgets.
func join(ctx context.Context, cfg Config) (*Sync, error) {
	slot, err := NewSlot(crand.Reader)
	if err != nil {
		return nil, err
	}
	e := newEngine(cfg, slot)
	if err := Probe(ctx, cfg.Transport, cfg.Prefix); err != nil {
		return nil, fmt.Errorf("redisync: %w", err)
	}
	if err := e.join(ctx); err != nil {
		return nil, fmt.Errorf("redisync: joining: %w", err)
	}
	budgets := make([]tickgate.Budget, 0, len(cfg.Policies))
	for _, endpoint := range slices.Sorted(maps.Keys(cfg.Policies)) {
		budgets = append(budgets, tickgate.Budget{Endpoint: endpoint, Mode: cfg.Policies[endpoint].budget()})
	}
	l, err := cfg.Gate.Share(budgets)
	if err != nil {
		e.transport.Sync(ctx, []Call{e.leaving()}, make([]Reply, 1))
		return nil, err
	}
	e.ledger = l
	e.setRetry()
	remote := newRemote(&e.Config)
	e.changed = remote.change
	e.refresh()
	run, stop := context.WithCancel(context.Background())
	e.carry = e.carrier(run)
	return &Sync{
		gate: cfg.Gate, engine: e, remote: remote, stop: stop, decided: l.Decided,
		closing: make(chan struct{}), done: make(chan struct{}), ended: make(chan struct{}),
	}, nil
}

// budget is the gate's word for a mode.
func (m Mode) budget() tickgate.BudgetMode {
	switch m {
	case Lease:
		return tickgate.LeaseMode
	case Strict:
		return tickgate.RemoteMode
	}
	return tickgate.CreditMode
}

// join makes the first heartbeat, and touches the marks of leases.
func (e *engine) join(ctx context.Context) error {
	calls := []Call{{Key: NodesKey(e.Prefix), Args: e.heartbeat()}}
	if e.leasing() {
		calls = append(calls, marks(e.Prefix, e.Quiet)...)
	}
	var faults []error
	for len(calls) > 0 {
		n := min(chunk, len(calls))
		replies := make([]Reply, n)
		e.insist(ctx, calls[:n], replies)
		for i, r := range replies {
			switch {
			case r.Err != nil:
				faults = append(faults, fmt.Errorf("%s: %w", calls[i].Key, r.Err))
			case calls[i].Key == NodesKey(e.Prefix):
				a, err := ParseHeartbeat(r.Values)
				if err != nil {
					faults = append(faults, err)
				}
				e.nodes = max(e.nodes, a.Nodes)
			}
		}
		if faults != nil {
			return faults[0] // the others are the same
		}
		calls = calls[n:]
	}
	return nil
}

// insist makes calls that may be executed any number of times, until all are answered,
// one is refused for good, or ctx ends. It is for joining and leaving: no loop waits.
func (e *engine) insist(ctx context.Context, calls []Call, replies []Reply) {
	for tries := 0; ; tries++ {
		once, cancel := context.WithTimeout(ctx, mostTry)
		e.transport.Sync(once, calls, replies)
		cancel()
		again := false
		for _, r := range replies {
			if r.Err != nil && (errors.Is(r.Err, ErrRefused) || errors.Is(r.Err, ErrReadOnly)) {
				return
			}
			again = again || r.Err != nil
		}
		if !again {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff(tries, .5)):
		}
	}
}

// mostTry is how long insist waits for one try.
const mostTry = time.Second

// leaving is the call that says that this node is gone.
func (e *engine) leaving() Call {
	return Call{Key: NodesKey(e.Prefix), Args: LeaveArgs{Node: e.slot}.Args()}
}

// run is the loop: it steps the engine when something is due or came back.
func (s *Sync) run() {
	defer close(s.ended)
	e, closing := s.engine, s.closing
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var back *batch
		select {
		case back = <-e.results:
		case <-timer.C:
		case <-closing:
			closing = nil
			e.mu.Lock()
			e.flush(e.Clock.Now())
			e.mu.Unlock()
		}
		e.mu.Lock()
		now := e.Clock.Now()
		for back != nil {
			e.finish(back, now)
			select {
			case back = <-e.results:
			default:
				back = nil
			}
		}
		if e.stopped {
			e.mu.Unlock()
			return
		}
		timer.Reset(e.step(now))
		if e.closing && e.flushed() {
			select {
			case <-s.done:
			default:
				close(s.done)
			}
		}
		e.mu.Unlock()
	}
}

// flush has everything told and given back. Ordinary calls on credit are denied from
// now on.
func (e *engine) flush(now clock.Time) {
	e.at(now)
	e.closing, e.rounds, e.look = true, 0, now
	e.shut()
	for e.held.head != nil {
		e.enqueue(e.held.head)
	}
}

// flushed reports whether nothing is left to tell. A call that found the gate open just
// before it was shut may use some afterwards, so accounts are collected three times.
func (e *engine) flushed() bool {
	return e.rounds >= 3 && e.inFlight == 0 && e.queue.len() == 0 && e.parked.n == 0 && e.held.n == 0 && len(e.vague) == 0
}

// Stats returns what was counted since New.
func (s *Sync) Stats() Stats {
	s.engine.mu.Lock()
	stats := s.engine.state()
	s.engine.mu.Unlock()
	stats.Strict = s.remote.state()
	if t, ok := s.engine.transport.(interface{ Stats() TransportStats }); ok {
		stats.Transport = t.Stats()
	}
	return stats
}

// Close tells Redis what was used and not told yet, gives leases back, and leaves. It
// returns when that is done, ctx ends, or 10 s have passed; the error says what could
// not be told. Stop serving first: while it flushes, ordinary calls on credit and all on
// lease are denied with Reason Unsettled, and afterwards the gate's limits are those of
// this process alone. Later calls return the same.
func (s *Sync) Close(ctx context.Context) error {
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, mostLeave)
		defer cancel()
		s.err = s.close(ctx)
	})
	return s.err
}

func (s *Sync) close(ctx context.Context) error {
	e := s.engine
	close(s.closing)
	s.remote.close()
	var faults []error
	select {
	case <-s.done:
	case <-ctx.Done():
		e.mu.Lock()
		n := e.inFlight + e.queue.len() + e.parked.n + e.held.n
		e.mu.Unlock()
		faults = append(faults, fmt.Errorf("redisync: closing: Redis was not told of %d keys: %w", n, ctx.Err()))
	}
	e.mu.Lock()
	if e.untold > 0 {
		faults = append(faults, fmt.Errorf("redisync: closing: Redis was not told of %d keys, since it refused: %w", e.untold, e.refusal))
	}
	e.mu.Unlock()
	if ctx.Err() == nil {
		replies := make([]Reply, 1)
		e.insist(ctx, []Call{e.leaving()}, replies)
		if err := replies[0].Err; err != nil {
			faults = append(faults, fmt.Errorf("redisync: leaving: %w", err))
		}
	}
	e.mu.Lock()
	e.stopped = true
	e.mu.Unlock()
	s.stop()
	<-s.ended
	e.dismiss()
	faults = append(faults, e.ledger.Close())
	if s.own != nil {
		s.own.Close()
	}
	return errors.Join(faults...)
}
