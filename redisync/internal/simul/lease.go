package simul

import (
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
)

// leaseNode is a process on leases: a real gate, and the reconciler's records.
type leaseNode struct {
	w     *leases
	id    int
	slot  redisync.Slot
	drift int64 // its clock goes wrong by this many millionths
	clock *clock.Manual

	gate    *tickgate.Gate
	ledger  *tickgate.Ledger
	records []*leaseRecord
	epoch   int64
}

// leaseRecord is what the reconciler knows of an account. What the gate has left of
// seen is the rest of the lease; the difference is gone.
type leaseRecord struct {
	node   *leaseNode
	id     tickgate.Account
	key    string
	epoch  int64
	seen   int64
	back   int64
	until  clock.Time // 0: nothing was granted yet
	flying *leaseCall
}

// leaseCall is a call in the network.
type leaseCall struct {
	r     *leaseRecord
	args  redisync.LeaseArgs
	at    clock.Time // when it was sent, by the node's clock
	ran   bool
	reply redisync.LeaseReply
}

func (w *leases) join() (*leaseNode, error) {
	n := &leaseNode{w: w, id: w.ids, slot: slotName(w.ids), drift: int64(w.c.IntN(3)-1) * 8000}
	w.ids++
	n.clock = clock.NewManual(clock.Time(time.Duration(n.id+1) * time.Hour))
	var err error
	n.gate, err = tickgate.New(tickgate.Config{
		Clock: n.clock, MaxKeys: w.o.MaxKeys,
		Policies: policy.Set{{Endpoint: "e", Limits: []policy.Limit{
			{Tokens: w.o.Tokens, Per: w.o.Per, Burst: w.o.Capacity},
		}}},
	})
	if err == nil {
		n.ledger, err = n.gate.Share([]tickgate.Budget{{Endpoint: "e", Mode: tickgate.LeaseMode}})
	}
	return n, err
}

// pass lets time pass, µs of the server's clock.
func (n *leaseNode) pass(us int64) {
	n.clock.Advance(time.Duration(us*1000 + us*n.drift/1000))
}

func (n *leaseNode) take(key string, tokens int64) bool {
	if !n.gate.AllowN(key, "e", tokens) {
		return false
	}
	n.w.logs.use(key, use{n.w.redis.Now, n.id, tokens})
	return true
}

func (n *leaseNode) collect() {
	n.ledger.Collect(func(a tickgate.Account) {
		for _, r := range n.records {
			if r.id == a {
				return
			}
		}
		if t, ok := n.ledger.Describe(a); ok {
			r := &leaseRecord{node: n, id: a, key: t.APIKey}
			r.renew()
			n.records = append(n.records, r)
		}
	})
}

func (r *leaseRecord) renew() {
	r.node.epoch++
	r.epoch, r.seen, r.back, r.until = r.node.epoch, 0, 0, 0
}

func (n *leaseNode) drop(r *leaseRecord) {
	for i, x := range n.records {
		if x == r {
			n.records = append(n.records[:i], n.records[i+1:]...)
		}
	}
	r.flying = nil
}

// left is what the gate has of a lease. It drops the record where the key is gone.
func (n *leaseNode) left(r *leaseRecord) (int64, bool) {
	u, ok := n.ledger.Open(r.id)
	if !ok {
		n.drop(r)
	}
	return u.Left, ok
}

// lapse drops what is left, and begins an epoch.
func (n *leaseNode) lapse(r *leaseRecord) {
	if left, ok := n.left(r); ok {
		n.ledger.Settle(r.id, tickgate.Settlement{Grant: -left, Until: r.until})
		r.flying = nil
		r.renew()
	}
}

// send tells what became of the lease, gives back some of it, and asks for more.
func (n *leaseNode) send(r *leaseRecord, want, back int64) {
	if r.flying != nil {
		return
	}
	if r.until != 0 && n.clock.Now() >= r.until && n.w.c.IntN(4) > 0 {
		// It is over. To tell of it all the same must be sound too: Redis knows.
		n.lapse(r)
	}
	left, ok := n.left(r)
	if !ok {
		return
	}
	if back = min(back, left); back > 0 && n.ledger.Settle(r.id, tickgate.Settlement{Grant: -back, Until: r.until}) {
		r.back += back
		left -= back
	}
	term := n.w.o.Term.Milliseconds()
	r.flying = &leaseCall{r: r, at: n.clock.Now(), args: redisync.LeaseArgs{
		Slot: n.slot, Epoch: r.epoch, Seen: r.seen, Gone: r.seen - left, Returned: r.back, Want: want, Policy: n.w.policy,
		Keep: 2 * term, Lease: term, MarkTTL: redisync.MarkTTL, Leave: want == 0 && n.w.c.IntN(4) == 0,
	}}
	n.w.calls = append(n.w.calls, r.flying)
}

// land takes the reply to a call.
func (n *leaseNode) land(c *leaseCall) {
	r := c.r
	if r.flying != c {
		return // given up
	}
	r.flying = nil
	left, ok := n.left(r)
	if !ok {
		return
	}
	if c.reply.Status == redisync.Stale {
		n.lapse(r)
		return
	}
	grant := c.reply.Granted - r.seen
	if c.reply.Gone > c.args.Gone && n.w.o.bug != keepLeft {
		// Written off: it is dropped, and only what was granted after that is held.
		n.ledger.Settle(r.id, tickgate.Settlement{Grant: -left, Until: r.until})
		grant = c.reply.Granted - c.reply.Gone
	}
	until := c.at.Add(n.w.o.Term)
	if n.w.o.bug == fromReply {
		until = n.clock.Now().Add(n.w.o.Term)
	}
	if n.ledger.Settle(r.id, tickgate.Settlement{Grant: grant, Until: until, Done: true}) {
		r.seen, r.until = c.reply.Granted, until
	}
}
