package redisync

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

// ErrBroken is the error of [Sync.Take] while calls to Redis fail: this one was not
// sent. It is an [ErrDown] too.
var ErrBroken = fmt.Errorf("redisync: the last calls failed: %w", ErrDown)

// ErrClosed is the error of [Sync.Take] where it would have to ask Redis after Close.
var ErrClosed = errors.New("redisync: closed")

// ErrCrowded is the error of [Sync.Take] where the calls before, for the same key, left it
// no time to ask Redis: this one was not sent.
var ErrCrowded = errors.New("redisync: too many calls for one key at a time")

// ErrLate is the error of [Sync.Take] where ctx leaves too little time to ask Redis: twice
// what nearly all calls take, at least 200 µs, but no more than half of Deadline. The call
// was not sent.
var ErrLate = errors.New("redisync: too little time is left to ask Redis")

// Take asks for n tokens of a key. Policies in Strict mode are decided by Redis, in one
// call, exactly: it waits for that, at most Deadline or until ctx ends. So are those on
// credit with Spent: Ask, when the credit is spent. All others are decided by the gate, as
// by [tickgate.Gate.Take], and so are blocks, bans and what is wrong with the arguments.
//
// Where Redis does not decide, the call is denied with Reason Unsettled, and the error says
// why. If that is an [ErrUnknown] the tokens may have been taken in Redis all the same. No
// call is sent again. A denial is remembered until it is over, so that asking again sooner
// costs Redis nothing; calls for one key are sent one after the other. The receipts of
// decisions by Redis are void: a refund of them does nothing.
func (s *Sync) Take(ctx context.Context, apikey, endpoint string, n int64) (tickgate.Decision, error) {
	d := s.gate.Take(apikey, endpoint, n)
	mine := d.Allowed || d.Reason == tickgate.Limited || d.Reason == tickgate.TooCostly
	if d.Reason != tickgate.Unsettled && !(mine && s.remote.closed.Load()) {
		return d, nil
	}
	t := s.remote.target(endpoint)
	if t == nil || mine && !t.strict {
		return d, nil
	}
	// After Close the gate has limits of its own again. Strict is still not for it to decide.
	d, err := s.remote.take(ctx, t, apikey, endpoint, n)
	if t.strict && n > 0 && s.decided != nil {
		s.decided(endpoint, &d)
	}
	return d, err
}

// target is a policy that Redis is asked for.
type target struct {
	limit  string
	part   string // of keys
	strict bool   // not only where the credit is spent
	policy Policy
	err    error // why it cannot be
}

// remote makes the strict calls.
type remote struct {
	*Config
	targets atomic.Pointer[map[string]*target] // by the policy's endpoint
	closed  atomic.Bool
	doors   *doors
	breaker *breaker

	allowed, denied, cached, failed, unknown, refused atomic.Uint64

	nearly atomic.Int64 // see usual
	mu     sync.Mutex
	times  latency
}

func newRemote(c *Config) *remote {
	return &remote{Config: c, doors: newDoors(), breaker: newBreaker(rand.New(rand.NewPCG(c.Rand.Uint64(), 0)))}
}

// change takes the gate's policies.
func (r *remote) change(set policy.Set, version int64) {
	targets := map[string]*target{}
	for _, p := range set {
		m := r.Policies[p.Endpoint]
		if m != Strict && (m != Credit || r.Spent != Ask) {
			continue
		}
		t := &target{strict: m == Strict}
		targets[p.Endpoint] = t
		if len(p.Limits) != 1 || p.Limits[0].Window != policy.TokenBucket {
			t.err = fmt.Errorf("redisync: the policy of %q has not just one token bucket any more, so Redis cannot be asked for it", p.Endpoint)
			continue
		}
		l := p.Limits[0]
		t.limit, t.part = l.Label(), limitPart(p, l)
		t.policy, t.err = PolicyOf(l.Tokens, l.Per, l.Capacity(), version)
	}
	r.targets.Store(&targets)
	r.doors.forget() // what was denied may fit now
}

// target returns the policy of an endpoint, nil if Redis is not asked for it.
func (r *remote) target(endpoint string) *target {
	all := *r.targets.Load()
	if t := all[endpoint]; t != nil {
		return t
	}
	if _, own := r.Policies[endpoint]; own {
		return nil
	}
	return all[policy.DefaultEndpoint]
}

// take decides on n tokens.
func (r *remote) take(ctx context.Context, t *target, apikey, endpoint string, n int64) (tickgate.Decision, error) {
	switch {
	case t.err != nil:
		return r.fail(t, t.err)
	case r.closed.Load():
		return r.fail(t, ErrClosed)
	}
	ctx, cancel := context.WithTimeout(ctx, r.Deadline)
	defer cancel()
	key := BudgetKey(r.Prefix, endpoint, t.part, apikey)
	d := r.doors.enter(key)
	defer func() { r.doors.leave(key, d, r.Clock.Now()) }()
	late := ErrLate
	select {
	case d.turn <- struct{}{}:
	default:
		late = ErrCrowded
		select {
		case d.turn <- struct{}{}:
		case <-ctx.Done():
			return r.fail(t, fmt.Errorf("%w: %w", ErrCrowded, ctx.Err()))
		}
	}
	defer func() { <-d.turn }()
	if decision, ok := d.denies(n, r.Clock.Now()); ok {
		r.cached.Add(1)
		decision.Limit = t.limit
		return decision, nil
	}
	left := r.left(ctx)
	if left < max(leastAsk, min(r.usual(), r.Deadline/2)) && left < r.Deadline/2 {
		return r.fail(t, late)
	}
	return r.ask(ctx, t, d, key, n, left < r.Deadline/2)
}

// leastAsk is the least time that it is worth asking in.
const leastAsk = 200 * time.Microsecond

// left is what ctx leaves.
func (r *remote) left(ctx context.Context) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return r.Deadline
	}
	return time.Until(end)
}

// usual is twice what nearly all calls take.
func (r *remote) usual() time.Duration { return time.Duration(r.nearly.Load()) }

// ask makes the call. hurried says that it has not much time: that it fails tells nothing.
func (r *remote) ask(ctx context.Context, t *target, d *door, key string, n int64, hurried bool) (tickgate.Decision, error) {
	sent := r.Clock.Now()
	if !r.breaker.enter(sent) {
		r.refused.Add(1)
		return r.fail(t, ErrBroken)
	}
	p := &t.policy
	reply := r.Transport.Call(ctx, Call{Key: key, Args: TakeArgs{
		CreditArgs: CreditArgs{Policy: *p, Keep: keepMS, Est: p.C, Debt: 1 << 52}, N: n,
	}.Args()})
	now := r.Clock.Now()
	a, err := TakeReply{}, reply.Err
	if err == nil {
		if a, err = ParseTake(reply.Values); err != nil {
			err = errors.Join(ErrUnknown, err)
		}
	}
	r.breaker.leave(now, alives(err), hurried || errors.Is(ctx.Err(), context.Canceled))
	if err != nil {
		if errors.Is(err, ErrUnknown) {
			r.unknown.Add(1)
		}
		return r.fail(t, fmt.Errorf("redisync: %w", err))
	}
	r.mu.Lock()
	r.times.add(now.Sub(sent))
	if r.times.n%32 == 1 {
		r.nearly.Store(int64(2 * r.times.quantile(.99)))
	}
	r.mu.Unlock()
	v := verdict(t, &a)
	if a.Allowed {
		r.allowed.Add(1)
		return v, nil
	}
	r.denied.Add(1)
	d.deny(v, n, sent, r.MaxAge)
	return v, nil
}

// verdict is what Redis answered, as a decision.
func verdict(t *target, a *TakeReply) tickgate.Decision {
	p := &a.Policy // in force there
	d := tickgate.Decision{
		Allowed: a.Allowed, Limit: t.limit, Remaining: max(0, a.Level/Unit),
		ResetAfter: refill(p, p.C-a.Level),
	}
	switch {
	case a.Allowed:
	case a.Retry < 0:
		d.Reason, d.RetryAfter = tickgate.TooCostly, tickgate.Never
	default:
		d.Reason, d.RetryAfter = tickgate.Limited, time.Duration(max(1, a.Retry))*time.Microsecond
	}
	return d
}

// refill is how long so many millionths of a token take, rounded up to a microsecond,
// at most a century or so.
func refill(p *Policy, millionths int64) time.Duration {
	if millionths <= 0 {
		return 0
	}
	us := float64(millionths) * float64(p.B) / float64(p.A)
	return time.Duration(min(us+1, 3e15)) * time.Microsecond
}

// fail is the answer where there is none.
func (r *remote) fail(t *target, err error) (tickgate.Decision, error) {
	r.failed.Add(1)
	return r.undecided(t), err
}

func (r *remote) undecided(t *target) tickgate.Decision {
	_, wait := r.breaker.broken(r.Clock.Now())
	return tickgate.Decision{Reason: tickgate.Unsettled, Limit: t.limit, RetryAfter: max(r.Interval, wait)}
}

// close has no more calls made.
func (r *remote) close() { r.closed.Store(true) }

// state returns what was counted.
func (r *remote) state() StrictStats {
	s := StrictStats{
		Allowed: r.allowed.Load(), Denied: r.denied.Load(), Cached: r.cached.Load(),
		Failed: r.failed.Load(), Unknown: r.unknown.Load(), Refused: r.refused.Load(),
	}
	s.Broken, _ = r.breaker.broken(0)
	r.mu.Lock()
	s.Times = r.times.times()
	r.mu.Unlock()
	return s
}
