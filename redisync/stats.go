package redisync

import (
	"errors"
	"time"

	"github.com/tickgate/tickgate/policy"
)

// Stats are what a Sync counted since New, and how it stands. Counts only grow. Getting
// them costs some microseconds, and no decision waits for it.
type Stats struct {
	// Nodes is how many processes share the budgets, by the last heartbeat.
	Nodes int
	// Overshoot is the most tokens of one key that all nodes together can admit too much:
	// (Nodes−1)·Credit of the policy on credit where that is greatest. 0 without one.
	Overshoot int64

	// Away reports that the fuse is open: no server said anything for MaxAge. FuseOpened is
	// how often it was that. Lanes are the servers told apart, Down those that do not answer.
	Away        bool
	FuseOpened  uint64
	Lanes, Down int
	// Silent is the time since a call for an account or a heartbeat was answered.
	Silent time.Duration

	// Syncs are the calls that were sent for accounts, in Batches; Acked those that were
	// answered and used. The others failed. Unknown: they may have been executed, and
	// the next call allows for both. NotSent: there was no connection. Moved: the key's
	// slot is being moved. ReadOnly: the server is a replica. Busy: it refuses for now.
	// Refused: it would again; see the log. Stale: another process has this node's name.
	Syncs, Batches, Acked                                   uint64
	Unknown, NotSent, Moved, ReadOnly, Busy, Refused, Stale uint64

	// Charged are the tokens that Redis was charged with. Granted are those that were
	// admitted by the rule for when Redis is away. Forgiven is what Redis forgave of
	// debts beyond all that nodes can owe, in millionths of a token; it stays 0.
	Charged, Granted, Forgiven uint64
	// Created are the keys that were not in Redis. Lost are those that should have been:
	// Redis was restarted, flushed, or short of memory.
	Created, Lost uint64
	// Behind are the answers by another node's policy, which was newer than this
	// node's, or as old and there first.
	Behind uint64
	// Debt is the greatest debt of a budget, in millionths of a token, that was told
	// between the last two heartbeats. Fullest is the greatest share of its credit that
	// a key had used when it was told, in that time; 1 is all.
	Debt    int64
	Fullest float64

	// Records are the accounts that are kept; of them Queued wait to be sent, Parked
	// wait because Redis did not answer, InFlight are under way, Held are leases in
	// order, and Idle have nothing to tell. Oldest is the longest that one of those has
	// waited for an answer, of the first 4096 in each.
	Records, Queued, Parked, InFlight, Held, Idle int
	Oldest                                        time.Duration

	// Sync is how long calls took, from sending to the answer. Lag is how long it took
	// from when the use of an account was noticed until it was settled; it is noticed
	// within an Interval, a tenth of it where half of a credit is used, and some key's was
	// in the second before.
	Sync, Lag Times

	// Leased are the tokens that were granted; Returned those of them that were given
	// back, Wasted those that were left when a lease ended. Learning are the answers
	// that nothing is granted since Redis may have lost leases. Marks are marks that were
	// not there when they were touched after New.
	Leased, Returned, Wasted, Learning, Marks uint64

	// Strict is what Take asked of Redis.
	Strict StrictStats

	// Transport is what the transport counts, if it is one made by [Dial].
	Transport TransportStats
}

// StrictStats are what strict calls came to.
type StrictStats struct {
	// Allowed and Denied were decided by Redis, Cached were denied here, because Redis
	// had said until when. Failed were not decided; of them, Unknown may have taken
	// their tokens in Redis, and Refused were not sent, because calls had failed before.
	Allowed, Denied, Cached  uint64
	Failed, Unknown, Refused uint64
	// Broken reports that calls are not sent, but for a probe now and then.
	Broken bool
	// Times are how long the calls took that Redis decided.
	Times Times
}

// Times are quantiles of the recent past, at most a quarter too long. 0: there was none.
type Times struct{ P50, P99, P999 time.Duration }

// counters are the counts of an engine, in the order of Stats.
type counters struct {
	Stats
	full float64 // greatest pending/credit since the last heartbeat
}

// fail counts a failure by its class.
func (c *counters) fail(err error) {
	switch {
	case errors.Is(err, ErrUnknown):
		c.Unknown++
	case errors.Is(err, ErrMoved):
		c.Moved++
	case errors.Is(err, ErrReadOnly):
		c.ReadOnly++
	case errors.Is(err, ErrBusy):
		c.Busy++
	case errors.Is(err, ErrRefused):
		c.Refused++
	default:
		c.NotSent++
	}
}

// times returns the quantiles.
func (h *latency) times() Times {
	return Times{P50: h.quantile(.5), P99: h.quantile(.99), P999: h.quantile(.999)}
}

// state completes the counts with how the engine stands.
func (e *engine) state() Stats {
	s, now := e.stats.Stats, e.Clock.Now()
	s.Nodes = int(e.nodes)
	for _, p := range e.set {
		if e.Policies[p.Endpoint] != Credit {
			continue
		}
		for _, l := range p.Limits {
			if l.Window == policy.TokenBucket {
				s.Overshoot = max(s.Overshoot, (e.nodes-1)*min(p.Credit, l.Capacity()))
			}
		}
	}
	s.Away, s.Lanes = e.fuse, len(e.lanes)
	for i := range e.lanes {
		if e.lanes[i].down {
			s.Down++
		}
	}
	s.Silent = max(0, now.Sub(e.heardAt))
	s.Records, s.Parked, s.Held, s.Idle = len(e.records), e.parked.n, e.held.n, e.idle.n
	s.Queued, s.InFlight = e.queue.len(), e.inFlight
	lists := []*list{&e.parked}
	for i := range e.queue {
		lists = append(lists, &e.queue[i])
	}
	for _, l := range lists {
		n := 4096
		for r := l.head; r != nil && n > 0; r, n = r.next, n-1 {
			if r.since != 0 {
				s.Oldest = max(s.Oldest, now.Sub(r.since))
			}
		}
	}
	for _, b := range e.batches {
		for i := range b.flights {
			if r := b.flights[i].r; b.busy && !b.lost && r.flight == b.flights[i].number && r.since != 0 {
				s.Oldest = max(s.Oldest, now.Sub(r.since))
			}
		}
	}
	s.Sync, s.Lag = e.rtt.times(), e.lag.times()
	return s
}
