package redisync

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// fakeRedis is a model of the script's c1, t1, h1 and x1, for what cannot be had from a real
// server: answers that are lost, late or come twice, at times of one's own choice.
type fakeRedis struct {
	clock  *clock.Manual
	keys   map[string]*fakeKey
	nodes  map[string]bool
	script func(call int, c Call) fate // by number from 1; nil: all is well
	calls  int
	late   []Call             // that were held back
	grant  int64              // of all leases, whoever asks for whatever
	err    func(c Call) error // what it answers with; may be nil
}

type fakeKey struct {
	level, part, at int64
	policy          Policy
	epoch, total    map[string]int64
}

// fate is what becomes of a call.
type fate int

const (
	answered fate = iota
	lostRequest
	lostReply
	twice      // executed twice, answered once
	delayed    // not executed yet, and not answered: see deliver
	unsentCall // not executed, and the caller knows
)

func newFake(c *clock.Manual) *fakeRedis {
	return &fakeRedis{clock: c, keys: map[string]*fakeKey{}, nodes: map[string]bool{}}
}

func (f *fakeRedis) now() int64 { return int64(f.clock.Now()) / 1000 }

func (f *fakeRedis) Sync(_ context.Context, calls []Call, replies []Reply) {
	for i, c := range calls {
		replies[i] = f.Call(nil, c)
	}
}

func (f *fakeRedis) Call(_ context.Context, c Call) Reply {
	f.calls++
	what := answered
	if f.script != nil {
		what = f.script(f.calls, c)
	}
	if f.err != nil {
		if err := f.err(c); err != nil {
			return Reply{Err: err}
		}
	}
	switch what {
	case lostRequest:
		return Reply{Err: fmt.Errorf("lost: %w", ErrUnknown)}
	case delayed:
		f.late = append(f.late, c)
		return Reply{Err: fmt.Errorf("late: %w", ErrUnknown)}
	case unsentCall:
		return Reply{Err: ErrDown}
	}
	v := f.run(c)
	switch what {
	case lostReply:
		return Reply{Err: fmt.Errorf("no reply: %w", ErrUnknown)}
	case twice:
		return Reply{Values: f.run(c)}
	}
	return Reply{Values: v}
}

// deliver executes what was held back.
func (f *fakeRedis) deliver() {
	for _, c := range f.late {
		f.run(c)
	}
	f.late = nil
}

func (f *fakeRedis) Close() {}

func (f *fakeRedis) run(c Call) []int64 {
	arg := func(i int) int64 { n, _ := strconv.ParseInt(c.Args[i], 10, 64); return n }
	switch c.Args[0] {
	case "l1":
		return []int64{0, f.grant, 0, 0, f.now(), 0, 0, 0, 1, 100, 86_400_000_000, 100 * Unit}
	case "m1":
		return []int64{0, f.now(), 0}
	case "h1":
		f.nodes[c.Args[1]] = true
		return []int64{int64(len(f.nodes)), f.now(), 0}
	case "x1":
		delete(f.nodes, c.Args[1])
		return []int64{int64(len(f.nodes)), f.now(), 0}
	}
	p := Policy{A: arg(5), B: arg(6), C: arg(7), V: arg(8)}
	k, created := f.keys[c.Key], int64(0)
	if k == nil {
		k = &fakeKey{level: min(p.C, arg(10)), at: f.now(), policy: p, epoch: map[string]int64{}, total: map[string]int64{}}
		f.keys[c.Key] = k
		created = 1
	}
	k.refill(f.now())
	status := OK
	switch q := k.policy; {
	case p.V > q.V:
		k.level += p.C - q.C
		k.policy = p
	case p.A != q.A || p.B != q.B || p.C != q.C:
		status = OlderPolicy
	}
	slot, epoch, total := c.Args[1], arg(2), arg(3)
	if slot != "" {
		if k.epoch[slot] > epoch {
			return []int64{int64(Stale), k.level, f.now(), 0, 0, 0, k.policy.V, k.policy.A, k.policy.B, k.policy.C}
		}
		known := arg(4)
		if k.epoch[slot] == epoch {
			known = k.total[slot]
		}
		if total > known {
			k.level -= (total - known) * Unit
		} else {
			total = known
		}
		k.epoch[slot], k.total[slot] = epoch, total
	}
	forgiven := max(0, -arg(11)-k.level)
	k.level += forgiven
	v := []int64{int64(status), k.level, f.now(), created, forgiven, total, k.policy.V, k.policy.A, k.policy.B, k.policy.C}
	if c.Args[0] == "t1" {
		n := arg(12) * Unit
		switch {
		case k.level >= n:
			k.level -= n
			v[1] = k.level
			v = append(v, 1, 0)
		case n > k.policy.C:
			v = append(v, 0, -1)
		default:
			v = append(v, 0, ((n-k.level)*k.policy.B-k.part+k.policy.A-1)/k.policy.A)
		}
	}
	return v
}

func (k *fakeKey) refill(now int64) {
	if now < k.at { // as in the script
		return
	}
	gain := (now-k.at)*k.policy.A + k.part
	k.at = now
	k.level, k.part = k.level+gain/k.policy.B, gain%k.policy.B
	if k.level >= k.policy.C {
		k.level, k.part = k.policy.C, 0
	}
}

// bench is a gate and an engine that is stepped by hand, without goroutines.
type bench struct {
	t      testing.TB
	clock  *clock.Manual
	redis  *fakeRedis
	gate   *tickgate.Gate
	engine *engine
	back   []*batch
	hold   bool // what comes back waits for land
}

func benchOf(t testing.TB, set policy.Set, change func(*Config)) *bench {
	c := clock.NewManual(1_000_000_000)
	return benchWith(t, c, newFake(c), set, change)
}

func benchWith(t testing.TB, c *clock.Manual, redis *fakeRedis, set policy.Set, change func(*Config)) *bench {
	gate, err := tickgate.New(tickgate.Config{Policies: set, Clock: c})
	require.NoError(t, err)
	cfg := Config{
		Gate: gate, Transport: redis, Clock: c, Rand: rand.NewPCG(1, 1), Since: time.UnixMilli(1),
		MaxAge: time.Second, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	require.NoError(t, cfg.check())
	s, err := join(t.Context(), cfg)
	require.NoError(t, err)
	b := &bench{t: t, clock: c, redis: redis, gate: gate, engine: s.engine}
	b.engine.wall = func() int64 { return int64(c.Now()) / 1_000_000 }
	b.engine.carry = func(x *batch) {
		replies := x.replies[:len(x.calls)]
		clear(replies)
		redis.Sync(t.Context(), x.calls, replies)
		x.took = c.Now()
		b.back = append(b.back, x)
	}
	return b
}

// run lets d pass, in milliseconds.
func (b *bench) run(d time.Duration) {
	for ; d > 0; d -= time.Millisecond {
		b.step()
		b.clock.Advance(time.Millisecond)
	}
	b.step()
}

func (b *bench) step() {
	b.engine.step(b.clock.Now())
	if !b.hold {
		b.land()
		b.engine.step(b.clock.Now())
		b.land()
	}
}

// land has what came back dealt with.
func (b *bench) land() {
	back := b.back
	b.back = nil
	for _, x := range back {
		b.engine.finish(x, b.clock.Now())
	}
}

// takes asks for n tokens, one by one, and returns how many were there.
func (b *bench) takes(n int) (allowed int) {
	for range n {
		if b.gate.Allow("k", "e") {
			allowed++
		}
	}
	return allowed
}

// level is what Redis has of the key, in millionths, now.
func (b *bench) level() int64 {
	for _, k := range b.redis.keys {
		k.refill(b.redis.now())
		return k.level
	}
	b.t.Fatal("there is no key")
	return 0
}

// forCredit makes a script that decides on calls for budgets only.
func forCredit(next func(n int) fate) func(int, Call) fate {
	n := 0
	return func(_ int, c Call) fate {
		if c.Args[0] != "c1" {
			return answered
		}
		n++
		return next(n)
	}
}
