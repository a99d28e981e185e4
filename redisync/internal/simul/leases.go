package simul

import (
	"fmt"

	"github.com/tickgate/tickgate/redisync"
)

// leases is a world of nodes on leases.
type leases struct {
	o      Options
	c      Choice
	policy redisync.Policy
	redis  *Redis
	nodes  []*leaseNode
	calls  []*leaseCall
	kept   map[string]*budget
	logs   logs
	ids    int
	ran    int
}

const theMark = "mark"

// Leases plays nodes on leases, and reports the first rule that is broken.
func Leases(c Choice, o Options) (Result, error) {
	w := &leases{o: o, c: c, logs: logs{}}
	var err error
	if w.policy, err = redisync.PolicyOf(o.Tokens, o.Per, o.Capacity, 0); err != nil {
		return Result{}, err
	}
	w.redis = newRedis(start, o.bug, func(key string, by int64) { w.logs.jump(key, w.redis.Now, by) })
	w.redis.marks[theMark] = 0 // nothing was lost since: every key is full
	for range o.Nodes {
		n, err := w.join()
		if err != nil {
			return Result{}, err
		}
		w.nodes = append(w.nodes, n)
	}
	for !c.Done() && w.ids < 60 {
		if err := w.step(); err != nil {
			return Result{}, err
		}
	}
	r := Result{Calls: w.ran}
	for i := range o.Keys {
		l := w.logs.of(keyName(i))
		// Leases that were forgotten are good until their end.
		most, err := l.check(w.policy, 0, 2*o.Term.Microseconds())
		if err != nil {
			return r, fmt.Errorf("%s: %w", keyName(i), err)
		}
		r.Most = max(r.Most, most)
		for _, u := range l.uses {
			r.Used += u.n
		}
	}
	return r, nil
}

// step does one thing.
func (w *leases) step() error {
	n := w.nodes[w.c.IntN(len(w.nodes))]
	key := keyName(w.c.IntN(w.o.Keys))
	term := w.o.Term.Microseconds()
	switch x := w.c.IntN(32); {
	case x < 9:
		n.take(key, 1+int64(w.c.IntN(3)))
	case x < 12:
		for n.take(key, 1) {
		}
	case x < 20:
		n.collect()
		if len(n.records) > 0 {
			want := int64(w.c.IntN(int(w.o.Capacity) + 2))
			r := n.records[w.c.IntN(len(n.records))]
			n.send(r, want, int64(max(0, w.c.IntN(8)-5)))
			if c := r.flying; c != nil && w.c.IntN(3) > 0 { // answered soon
				for r.flying == c && w.calls[len(w.calls)-1] == c {
					w.network(len(w.calls) - 1)
				}
			}
		}
	case x < 27:
		if len(w.calls) > 0 {
			w.network(w.c.IntN(len(w.calls)))
		}
	case x < 29:
		w.pass(int64(w.c.IntN(8)) * term / 16)
	case x == 29:
		w.pass([]int64{term / 64, term * 63 / 64, term, term * 66 / 64, 2 * term}[w.c.IntN(5)])
	case x == 30:
		if len(n.records) > 0 {
			if r := n.records[w.c.IntN(len(n.records))]; r.until != 0 && n.clock.Now() >= r.until {
				n.lapse(r)
			}
		}
	default:
		return w.fault(n)
	}
	return nil
}

func (w *leases) pass(us int64) {
	w.redis.Now += us
	for _, n := range w.nodes {
		n.pass(us)
	}
}

// network runs a call, or brings its reply. It may also lose it.
func (w *leases) network(i int) {
	c := w.calls[i]
	fate := 9
	if w.o.Lose {
		fate = w.c.IntN(10)
	}
	if c.r.flying != c && c.ran && len(w.calls) > 16 {
		fate = 0
	}
	if fate < 2 {
		if c.r.flying == c {
			c.r.flying = nil
		}
		if fate == 0 {
			w.calls = append(w.calls[:i], w.calls[i+1:]...)
		}
		return
	}
	if !c.ran || fate == 2 {
		reply := w.redis.Lease(c.r.key, theMark, c.args)
		w.ran++
		if !c.ran {
			c.ran, c.reply = true, reply
		}
		return
	}
	w.calls = append(w.calls[:i], w.calls[i+1:]...)
	c.r.node.land(c)
}

// fault is what happens seldom.
func (w *leases) fault(n *leaseNode) error {
	switch x := w.c.IntN(12); {
	case x == 0 && w.o.Crash:
		for i := range w.nodes {
			if w.nodes[i] != n {
				continue
			}
			for _, r := range n.records {
				r.flying = nil
			}
			next, err := w.join()
			if err != nil {
				return err
			}
			w.nodes[i] = next
		}
	case x < 5 && w.o.Fall && w.kept == nil:
		w.kept = w.redis.copy()
	case x < 7 && w.o.Fall && w.kept != nil:
		w.redis.fallBack(w.kept, true)
		w.kept = nil
	case x == 7 && w.o.Flush:
		w.redis.flush()
		w.kept = nil
	}
	return nil
}
