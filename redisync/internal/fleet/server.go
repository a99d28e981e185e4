package fleet

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/tickgate/tickgate/redisync"
)

// server is a Redis that does what the script does for budgets on credit and for
// heartbeats, one call after the other.
type server struct {
	mu    sync.Mutex
	keys  map[string]*budget
	beats map[string]int64 // µs until which a node counts

	cost  time.Duration // of a call
	free  time.Duration // when it is through with what it has
	gone  span          // when it is silent
	calls [2]int        // for budgets; heartbeats
	wait  time.Duration // longest that a call waited for its turn
}

// span is a time from one instant to before another.
type span struct{ from, to time.Duration }

func (s span) has(t time.Duration) bool { return t >= s.from && t < s.to }

// budget is one key.
type budget struct {
	policy          redisync.Policy
	level, at, part int64 // millionths; µs; beyond level, over policy.B
	look            int64 // s, when silent nodes are looked for
	nodes           map[string]*field
}

// field is one node of a key.
type field struct{ epoch, total, seconds int64 }

func newServer(cost time.Duration) *server {
	return &server{keys: map[string]*budget{}, beats: map[string]int64{}, cost: cost}
}

// serve runs calls that arrive together, and returns when the last was through. It
// reports false, and runs none, where it is silent.
func (s *server) serve(at time.Duration, calls []redisync.Call, replies []redisync.Reply) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone.has(at) {
		return 0, false
	}
	s.wait = max(s.wait, s.free-at)
	s.free = max(s.free, at)
	for i, c := range calls {
		v, err := s.run(c, epoch+s.free.Microseconds())
		replies[i] = redisync.Reply{Values: v, Err: err}
		s.free += s.cost
	}
	return s.free, true
}

// begin counts from now on, and says when it is silent.
func (s *server) begin(gone span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone, s.calls, s.wait = gone, [2]int{}, 0
}

// counts returns the calls for budgets, the heartbeats, and the longest wait.
func (s *server) counts() (calls, beats int, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[0], s.calls[1], s.wait
}

// epoch is the server's time, µs, when a play begins.
const epoch = 1_000_000_000_000_000

// run runs a call at a time, µs.
func (s *server) run(c redisync.Call, now int64) ([]int64, error) {
	var n [13]int64
	for i := 2; i < len(c.Args); i++ {
		v, err := strconv.ParseInt(c.Args[i], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: %q is no number", redisync.ErrRefused, c.Args[i])
		}
		n[i] = v
	}
	switch op := c.Args[0]; {
	case op == "c1" && len(c.Args) == 12:
		s.calls[0]++
		return s.credit(c.Key, c.Args[1], now, redisync.CreditArgs{
			Epoch: n[2], Total: n[3], Base: n[4], Policy: redisync.Policy{A: n[5], B: n[6], C: n[7], V: n[8]},
			Keep: n[9], Est: n[10], Debt: n[11],
		}), nil
	case op == "h1" && len(c.Args) == 3:
		s.calls[1]++
		created := len(s.beats) == 0
		s.beats[c.Args[1]] = now + n[2]*1000
		return []int64{s.living(now), now, one(created)}, nil
	case op == "x1":
		s.calls[1]++
		delete(s.beats, c.Args[1])
		return []int64{s.living(now), now, 0}, nil
	default:
		return nil, fmt.Errorf("%w: %s is not modelled", redisync.ErrRefused, op)
	}
}

// living forgets the nodes that were not heard of, and counts the others.
func (s *server) living(now int64) int64 {
	for node, until := range s.beats {
		if until <= now {
			delete(s.beats, node)
		}
	}
	return int64(len(s.beats))
}

// credit is the script's operation c1.
func (s *server) credit(key, slot string, now int64, a redisync.CreditArgs) []int64 {
	b, created, status := s.keys[key], false, redisync.OK
	if b == nil {
		created = true
		b = &budget{policy: a.Policy, level: min(a.Policy.C, a.Est), at: now, nodes: map[string]*field{}}
		s.keys[key] = b
	}
	b.refill(now)
	known, f := a.Base, b.nodes[slot]
	switch {
	case f != nil && f.epoch > a.Epoch:
		return []int64{int64(redisync.Stale), b.level, now, 0, 0, 0, b.policy.V, b.policy.A, b.policy.B, b.policy.C}
	case f != nil && f.epoch == a.Epoch:
		known = f.total
	case f != nil:
		known = 0
	}
	if p := a.Policy; p.V > b.policy.V {
		if p.B != b.policy.B {
			b.part = 0
		}
		b.level += p.C - b.policy.C
		b.policy = p
	} else if p.A != b.policy.A || p.B != b.policy.B || p.C != b.policy.C {
		status = redisync.OlderPolicy
	}
	if f == nil && a.Base > 0 && !created {
		b.level = min(b.level, a.Est)
	}
	if a.Total > known {
		b.level -= (a.Total - known) * redisync.Unit
		known = a.Total
	}
	forgiven := max(0, -a.Debt-b.level)
	b.level += forgiven
	if f == nil {
		f = new(field)
		b.nodes[slot] = f
	}
	*f = field{a.Epoch, known, now / redisync.Unit}
	b.prune(now/redisync.Unit, a.Keep)
	return []int64{int64(status), b.level, now, one(created), forgiven, known, b.policy.V, b.policy.A, b.policy.B, b.policy.C}
}

// refill advances to a time.
func (b *budget) refill(now int64) {
	if now <= b.at {
		return
	}
	gain := (now-b.at)*b.policy.A + b.part // below 2^63 for the rates and idle times of a play
	b.at = now
	if more := gain / b.policy.B; more < b.policy.C-b.level {
		b.level, b.part = b.level+more, gain%b.policy.B
	} else {
		b.level, b.part = max(b.level, b.policy.C), 0
	}
}

// prune forgets the nodes that were not heard of for keep, ms, when it is time.
func (b *budget) prune(seconds, keep int64) {
	if seconds < b.look {
		return
	}
	if b.look > 0 {
		for slot, f := range b.nodes {
			if f.seconds+keep/1000 < seconds {
				delete(b.nodes, slot)
			}
		}
	}
	b.look = seconds + (keep+999)/1000 + 1
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
