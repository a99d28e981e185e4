package simul

import (
	"fmt"
	"time"

	"github.com/tickgate/tickgate/redisync"
)

// Options say what is played.
type Options struct {
	Nodes    int
	Keys     int
	MaxKeys  int // of each gate: fewer than Keys, so that keys are evicted
	Tokens   int64
	Per      time.Duration
	Capacity int64
	Credit   int64         // on credit
	Term     time.Duration // of a lease

	Lose  bool // calls and replies are lost, late, or run twice
	Crash bool // nodes crash, and come back under another name
	Fall  bool // Redis falls back to what a replica had
	Flush bool // Redis loses its data

	bug bugs
}

// Result is what a play came to.
type Result struct {
	Used  int64   // tokens
	Calls int     // that ran
	Most  float64 // tokens beyond capacity and refill in a window
}

// logs are those of all keys.
type logs map[string]*log

func (l logs) of(key string) *log {
	if l[key] == nil {
		l[key] = new(log)
	}
	return l[key]
}

func (l logs) use(key string, u use) int {
	x := l.of(key)
	x.uses = append(x.uses, u)
	return len(x.uses) - 1
}

func (l logs) jump(key string, at, by int64) {
	if by > 0 {
		x := l.of(key)
		x.jumps = append(x.jumps, jump{at, by})
	}
}

// credit is a world of nodes on credit.
type credit struct {
	o      Options
	c      Choice
	policy redisync.Policy
	redis  *Redis
	nodes  []*creditNode
	dead   []*creditNode
	calls  []*creditCall
	kept   map[string]*budget // what the replica has
	logs   logs
	ids    int
	ran    int
}

// start is when the plays begin, µs: long enough after 0 for every key to be full.
const start = 1_000_000_000

func keyName(i int) string { return fmt.Sprint("key", i) }

// Credit plays nodes on credit, and reports the first rule that is broken.
func Credit(c Choice, o Options) (Result, error) {
	w := &credit{o: o, c: c, logs: logs{}}
	var err error
	if w.policy, err = redisync.PolicyOf(o.Tokens, o.Per, o.Capacity, 0); err != nil {
		return Result{}, err
	}
	w.redis = newRedis(start, o.bug, func(key string, by int64) { w.logs.jump(key, w.redis.Now, by) })
	for i := range o.Nodes {
		n, err := w.join(slotName(i))
		if err != nil {
			return Result{}, err
		}
		w.nodes = append(w.nodes, n)
	}
	for !c.Done() && w.ids < 60 { // 64 fit the checks
		if err := w.step(); err != nil {
			return Result{}, err
		}
	}
	if err := w.settle(); err != nil {
		return Result{}, err
	}
	return w.judge()
}

func slotName(i int) redisync.Slot { return redisync.Slot(fmt.Sprintf("node%02d", i)) }

// step does one thing.
func (w *credit) step() error {
	n := w.nodes[w.c.IntN(len(w.nodes))]
	switch x := w.c.IntN(32); {
	case x < 8:
		n.take(w.key(), 1+int64(w.c.IntN(3)))
	case x < 10:
		n.holdOrRefund(w.key(), 1+int64(w.c.IntN(2)), w.c.IntN(4) > 0)
	case x < 14:
		return w.greedy(n, w.key(), w.c.IntN(6))
	case x < 17:
		n.collect()
		if len(n.records) > 0 {
			n.send(n.records[w.c.IntN(len(n.records))])
		}
	case x < 25:
		if len(w.calls) > 0 {
			return w.network(w.c.IntN(len(w.calls)))
		}
	case x < 28:
		w.pass(int64(w.c.IntN(8)) * w.token() / 4)
	case x < 30:
		if len(n.records) > 0 {
			n.forget(n.records[w.c.IntN(len(n.records))])
		}
	case x == 30:
		if w.c.IntN(4) == 0 {
			w.pass(w.o.Capacity * w.token())
			for i := len(n.records) - 1; i >= 0; i-- {
				n.forget(n.records[i])
			}
		}
	default:
		return w.fault(n)
	}
	return nil
}

func (w *credit) key() string { return keyName(w.c.IntN(w.o.Keys)) }

// token is the time in which one is refilled, µs.
func (w *credit) token() int64 { return int64(w.o.Per/time.Microsecond) / w.o.Tokens }

// greedy has a node use all it can of a key and tell it, some times; and again use all.
// It is what takes a budget to its bound: others still see what was there before.
func (w *credit) greedy(n *creditNode, key string, times int) error {
	for ; ; times-- {
		part := w.c.IntN(2) == 0 // the rest while it is told
		for before := n.taken[key]; ; before = n.taken[key] {
			if n.take(key, 1); n.taken[key] == before || part {
				break
			}
		}
		n.collect()
		if times <= 0 {
			return nil
		}
		for _, r := range n.records {
			if r.key != key || r.flying != nil {
				continue
			}
			if n.send(r); r.flying == nil {
				break
			}
			if part {
				n.take(key, 1)
			}
			for c := r.flying; r.flying == c && w.calls[len(w.calls)-1] == c; {
				if err := w.network(len(w.calls) - 1); err != nil {
					return err
				}
			}
			break
		}
	}
}

// pass lets time pass, µs.
func (w *credit) pass(us int64) {
	w.redis.Now += us
	for _, n := range w.nodes {
		n.tick()
	}
}

// network runs a call, or brings its reply. It may also lose it.
func (w *credit) network(i int) error {
	c := w.calls[i]
	fate := 9
	if w.o.Lose {
		fate = w.c.IntN(10)
	}
	if c.r.flying != c && c.ran && len(w.calls) > 16 {
		fate = 0
	}
	if fate < 2 { // the node gives it up; it may still run
		if c.r.flying == c {
			c.r.node.giveUp(c.r)
		}
		if fate == 0 {
			w.calls = append(w.calls[:i], w.calls[i+1:]...)
		}
		return nil
	}
	if !c.ran || fate == 2 { // 2: it runs again
		reply := w.redis.Credit(c.r.key, c.args)
		if w.ran++; w.redis.fault != nil {
			return w.redis.fault
		}
		if !c.ran {
			c.ran, c.reply = true, reply
		}
		return nil
	}
	w.calls = append(w.calls[:i], w.calls[i+1:]...)
	return c.r.node.land(c)
}

// fault is what happens seldom.
func (w *credit) fault(n *creditNode) error {
	switch x := w.c.IntN(12); {
	case x == 0 && w.o.Crash:
		return w.crash(n)
	case x < 5 && w.o.Fall && w.kept == nil:
		w.kept = w.redis.copy()
	case x < 7 && w.o.Fall && w.kept != nil:
		w.redis.fallBack(w.kept, false)
		w.kept = nil
	case x == 7 && w.o.Flush:
		w.redis.flush()
		w.kept = nil
	}
	return nil
}

// crash replaces a node by another. Calls it sent may still run.
func (w *credit) crash(n *creditNode) error {
	for i, x := range w.nodes {
		if x != n {
			continue
		}
		for _, r := range n.records {
			r.flying = nil
		}
		slot := slotName(w.ids)
		if w.o.bug == sameName {
			slot = n.slot
		}
		next, err := w.join(slot)
		if err != nil {
			return err
		}
		w.dead = append(w.dead, n)
		w.nodes[i] = next
	}
	return nil
}

// settle lets every node tell everything, without faults.
func (w *credit) settle() error {
	w.o.Lose = false
	for range 1000 {
		for len(w.calls) > 0 {
			if err := w.network(0); err != nil {
				return err
			}
		}
		for _, n := range w.nodes {
			n.collect()
			for _, r := range append([]*creditRecord(nil), n.records...) {
				n.send(r)
			}
		}
		if len(w.calls) == 0 {
			return nil
		}
	}
	return fmt.Errorf("nodes go on telling")
}

// judge holds the play against the rules.
func (w *credit) judge() (Result, error) {
	r := Result{Calls: w.ran}
	for i := range w.o.Keys {
		key := keyName(i)
		l := w.logs.of(key)
		most, err := l.check(w.policy, min(w.o.Credit, w.o.Capacity), 0)
		if err != nil {
			return r, fmt.Errorf("%s: %w", key, err)
		}
		r.Most = max(r.Most, most)
		for _, u := range l.uses {
			r.Used += u.n
		}
		b := w.redis.keys[key]
		if b == nil {
			continue
		}
		for _, n := range append(w.nodes, w.dead...) {
			if err := w.conserved(n, b, key); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// conserved holds what a node used of a key against what Redis charged it.
func (w *credit) conserved(n *creditNode, b *budget, key string) error {
	charged := b.charged[n.slot]
	if charged > n.taken[key] {
		return fmt.Errorf("%s: %s was charged %d tokens, and took %d", key, n.slot, charged, n.taken[key])
	}
	for _, x := range w.dead {
		if x == n {
			return nil // what it did not tell is lost
		}
	}
	if !w.o.Fall && !w.o.Flush && !n.forgave && charged < n.kept[key] {
		return fmt.Errorf("%s: %s used %d tokens, and was charged %d", key, n.slot, n.kept[key], charged)
	}
	for _, r := range n.records {
		if f := b.nodes[n.slot]; r.key == key && r.acked && !w.o.Fall && !w.o.Flush && (f == nil || f.epoch != r.epoch || f.total != r.settled) {
			return fmt.Errorf("%s: %s has %d tokens settled in epoch %d, Redis has %+v", key, n.slot, r.settled, r.epoch, f)
		}
	}
	return nil
}
