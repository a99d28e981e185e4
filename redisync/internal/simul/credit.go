package simul

import (
	"fmt"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
)

// creditNode is a process on credit: a real gate, and the reconciler's records.
type creditNode struct {
	w     *credit
	id    int
	slot  redisync.Slot
	ahead time.Duration // of its clock
	clock *clock.Manual

	gate    *tickgate.Gate
	ledger  *tickgate.Ledger
	records []*creditRecord
	epoch   int64
	forced  uint64 // evictions that forgave a debt
	forgave bool

	held *held // a take that may be given back

	taken, kept map[string]int64 // tokens by key, given back ones included and not
}

// held is a take by a handle.
type held struct {
	h   tickgate.Handle
	d   tickgate.Decision
	key string
	use int // in the key's log
	n   int64
}

// creditRecord is what the reconciler knows of an account.
type creditRecord struct {
	node    *creditNode
	id      tickgate.Account
	key     string
	epoch   int64
	settled int64
	sent    int64 // the highest total of a call whose fate is unknown; 0: none is
	opened  int64 // pending tokens in the call in flight
	flying  *creditCall
	acked   bool
}

// creditCall is a call in the network. It is given up when its record has another, or
// none.
type creditCall struct {
	r     *creditRecord
	args  redisync.CreditArgs
	at    int64 // when it was sent, µs
	ran   bool
	reply redisync.CreditReply
}

func (w *credit) join(slot redisync.Slot) (*creditNode, error) {
	n := &creditNode{w: w, id: w.ids, slot: slot, ahead: time.Duration(w.ids) * time.Hour, taken: map[string]int64{}, kept: map[string]int64{}}
	w.ids++
	n.clock = clock.NewManual(0)
	n.tick()
	var err error
	n.gate, err = tickgate.New(tickgate.Config{
		Clock: n.clock, MaxKeys: w.o.MaxKeys,
		Policies: policy.Set{{Endpoint: "e", Credit: w.o.Credit, Limits: []policy.Limit{
			{Tokens: w.o.Tokens, Per: w.o.Per, Burst: w.o.Capacity},
		}}},
	})
	if err == nil {
		n.ledger, err = n.gate.Share([]tickgate.Budget{{Endpoint: "e", Mode: tickgate.CreditMode}})
	}
	return n, err
}

func (n *creditNode) tick() {
	n.clock.Set(clock.Time(n.ahead + time.Duration(n.w.redis.Now)*time.Microsecond))
}

// take uses tokens of a key, by name.
func (n *creditNode) take(key string, tokens int64) {
	if n.gate.AllowN(key, "e", tokens) {
		n.use(key, tokens)
	}
}

// use notes an admission, and returns its place in the key's log.
func (n *creditNode) use(key string, tokens int64) int {
	if f := n.gate.Stats().Evictions.Forced; f != n.forced {
		// What was pending of some key is gone, as by a crash: from now on it counts
		// as another process.
		n.forced, n.forgave, n.id = f, true, n.w.ids
		n.w.ids++
	}
	n.taken[key] += tokens
	n.kept[key] += tokens
	return n.w.logs.use(key, use{n.w.redis.Now, n.id, tokens})
}

// holdOrRefund takes by a handle; the next time it gives that back, or not.
func (n *creditNode) holdOrRefund(key string, tokens int64, back bool) {
	if x := n.held; x != nil {
		if back {
			x.h.Refund(x.d)
			n.kept[x.key] -= x.n
			n.w.logs[x.key].uses[x.use].n = 0
		}
		x.h.Release()
		n.held = nil
		return
	}
	h, err := n.gate.Handle(key, "e")
	if err != nil {
		return
	}
	d := h.Take(tokens)
	if !d.Allowed {
		h.Release()
		return
	}
	n.held = &held{h: h, d: d, key: key, use: n.use(key, tokens), n: tokens}
}

// collect makes records of accounts that were used.
func (n *creditNode) collect() {
	n.ledger.Collect(func(a tickgate.Account) {
		for _, r := range n.records {
			if r.id == a {
				return
			}
		}
		t, ok := n.ledger.Describe(a)
		if !ok {
			return
		}
		r := &creditRecord{node: n, id: a, key: t.APIKey}
		r.renew()
		n.records = append(n.records, r)
	})
}

func (r *creditRecord) renew() {
	if r.node.w.o.bug != sameEpoch || r.node.epoch == 0 {
		r.node.epoch++
	}
	r.epoch, r.settled, r.sent, r.acked = r.node.epoch, 0, 0, false
}

// drop forgets a record.
func (n *creditNode) drop(r *creditRecord) {
	for i, x := range n.records {
		if x == r {
			n.records = append(n.records[:i], n.records[i+1:]...)
		}
	}
	r.flying = nil
}

// forget drops a record whose limit is full, with nothing to tell.
func (n *creditNode) forget(r *creditRecord) {
	if r.flying != nil || r.sent != 0 && n.w.o.bug != forgetSoon {
		return
	}
	if u, ok := n.ledger.Open(r.id); !ok || u.Level >= n.w.policy.C && u.Pending == 0 || n.w.o.bug == forgetSoon {
		if ok {
			n.ledger.Settle(r.id, tickgate.Settlement{Keep: true, Done: true})
		}
		n.drop(r)
	} else if r.sent == 0 {
		n.ledger.Settle(r.id, tickgate.Settlement{Keep: true, Done: true})
	}
}

// send sends a record's call, if it has something to tell.
func (n *creditNode) send(r *creditRecord) {
	if r.flying != nil {
		return
	}
	u, ok := n.ledger.Open(r.id)
	if !ok {
		n.drop(r)
		return
	}
	if u.Pending == 0 && r.sent == 0 {
		n.ledger.Settle(r.id, tickgate.Settlement{Keep: true, Done: true})
		return
	}
	p := n.w.policy
	args := redisync.CreditArgs{
		Slot: n.slot, Epoch: r.epoch, Total: max(r.settled+u.Pending, r.sent), Base: r.settled, Policy: p,
		Keep: 60_000, Est: min(p.C, u.Level+u.Pending*redisync.Unit), Debt: 1 << 50,
	}
	if n.w.o.bug == deltas {
		r.renew()
		args.Epoch, args.Total, args.Base = r.epoch, u.Pending, 0
	}
	r.opened = u.Pending
	r.flying = &creditCall{r: r, args: args, at: n.w.redis.Now}
	n.w.calls = append(n.w.calls, r.flying)
}

// giveUp takes the call in flight for unknown.
func (n *creditNode) giveUp(r *creditRecord) {
	if r.flying == nil {
		return
	}
	r.sent = max(r.sent, r.flying.args.Total)
	r.flying = nil
	if n.w.o.bug == clear {
		n.ledger.Settle(r.id, tickgate.Settlement{Used: r.opened, Keep: true, Done: true})
		r.sent = 0
	}
}

// land takes the reply to a call.
func (n *creditNode) land(c *creditCall) error {
	r := c.r
	if r.flying != c && (n.w.o.bug != lateReply || r.flying == nil) {
		return nil // given up
	}
	total := r.flying.args.Total
	r.flying = nil
	if c.reply.Status == redisync.Stale {
		if _, ok := n.ledger.Open(r.id); !ok { // the key left the gate, and came back as another account
			n.drop(r)
			return nil
		}
		return fmt.Errorf("a record's newest call was stale: %+v", c.args)
	}
	level := c.reply.Level
	switch n.w.o.bug {
	case overwrite:
		u, _ := n.ledger.Open(r.id)
		level += (u.Pending - r.opened) * redisync.Unit
	case flight:
		level += (n.w.redis.Now - c.at) * n.w.policy.A / n.w.policy.B
	}
	settled := max(c.reply.Total, total)
	if n.w.o.bug == deltas {
		settled = 0
	}
	if !n.ledger.Settle(r.id, tickgate.Settlement{Used: r.opened, Level: level, Done: true}) {
		n.drop(r) // the key is gone: nobody else uses it now
		return nil
	}
	r.settled, r.sent, r.acked = settled, 0, true
	return nil
}
