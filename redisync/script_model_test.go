package redisync

import (
	"math/big"
	"sort"
)

// model is the protocol once more, written from its rules and not from the script: the
// level is one exact fraction, times are whole, and nothing is remembered for later.
// It is told the server's time of each call.
type model struct {
	p     Policy
	level *big.Rat // millionths of a token
	at    int64    // µs
	there bool

	nodes map[Slot]*modelNode

	mark      int64 // µs
	marked    bool
	prunedNow int64 // s; when nodes are next looked for
}

type modelNode struct {
	epoch, total, seconds              int64 // credit
	granted, gone, returned, want, end int64 // lease
}

func newModel() *model { return &model{level: new(big.Rat), nodes: map[Slot]*modelNode{}} }

func floorRat(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) } // Denom > 0: rounds down

func (m *model) whole() int64 { return floorRat(m.level).Int64() }

func (m *model) add(n int64) { m.level.Add(m.level, new(big.Rat).SetInt64(n)) }

func (m *model) held() int64 {
	n := int64(0)
	for _, x := range m.nodes {
		n += x.granted - x.gone
	}
	return n
}

// refill advances to a time, up to what is not held of the capacity.
func (m *model) refill(to int64) {
	if to <= m.at {
		return
	}
	top := new(big.Rat).SetInt64(m.p.C - m.held()*Unit)
	gain := new(big.Rat).Mul(big.NewRat(m.p.A, m.p.B), new(big.Rat).SetInt64(to-m.at))
	m.at = to
	next := new(big.Rat).Add(m.level, gain)
	switch {
	case next.Cmp(top) < 0:
		m.level = next
	case top.Cmp(new(big.Rat).SetInt(floorRat(m.level))) > 0:
		m.level = top
	default: // no room: what is there stays, but for the part of a millionth
		m.level.SetInt(floorRat(m.level))
	}
}

func (m *model) convert(p Policy) Status {
	if p.V > m.p.V {
		if p.B != m.p.B {
			m.level.SetInt(floorRat(m.level))
		}
		m.add(p.C - m.p.C)
		m.p = p
		return OK
	}
	if p != m.p && (p.A != m.p.A || p.B != m.p.B || p.C != m.p.C) {
		return OlderPolicy
	}
	return OK
}

func (m *model) credit(now int64, a CreditArgs) CreditReply {
	r := CreditReply{Now: now, Created: !m.there}
	created := !m.there
	if created {
		*m = model{p: a.Policy, at: now, there: true, level: new(big.Rat).SetInt64(min(a.Policy.C, a.Est)), nodes: map[Slot]*modelNode{}, mark: m.mark, marked: m.marked}
	} else {
		m.refill(now)
		if n := m.nodes[a.Slot]; n != nil && n.epoch > a.Epoch {
			return CreditReply{Status: Stale, Level: m.whole(), Now: now, Policy: m.p}
		}
		r.Status = m.convert(a.Policy)
	}
	n := m.nodes[a.Slot]
	known := a.Base
	switch {
	case n != nil && n.epoch == a.Epoch:
		known = n.total
	case n != nil:
		known = 0 // Redis fell back to a record before
	case n == nil && a.Base > 0 && !created:
		if m.whole() > a.Est {
			// The part of a millionth is kept by the script, whichever is lower.
			part := new(big.Rat).Sub(m.level, new(big.Rat).SetInt(floorRat(m.level)))
			m.level = part.Add(part, new(big.Rat).SetInt64(a.Est))
		}
	}
	total := max(a.Total, known)
	m.add(-(total - known) * Unit)
	if under := -a.Debt - m.whole(); under > 0 {
		r.Forgiven = under
		m.add(under)
	}
	if a.Slot != "" {
		s := now / 1_000_000
		if s >= m.prunedNow {
			if m.prunedNow > 0 {
				for slot, x := range m.nodes {
					if x.seconds*1000+a.Keep < s*1000 {
						delete(m.nodes, slot)
					}
				}
			}
			m.prunedNow = s + (a.Keep+999)/1000 + 1
		}
		m.nodes[a.Slot] = &modelNode{epoch: a.Epoch, total: total, seconds: s}
	}
	r.Level, r.Total, r.Policy = m.whole(), total, m.p
	return r
}

func (m *model) take(now int64, a TakeArgs) TakeReply {
	r := TakeReply{CreditReply: m.credit(now, a.CreditArgs)}
	if r.Status == Stale {
		return r
	}
	need := a.N * Unit
	switch {
	case m.whole() >= need:
		m.add(-need)
		r.Allowed, r.Level = true, m.whole()
	case need > m.p.C:
		r.Retry = -1
	default:
		lack := new(big.Rat).Sub(new(big.Rat).SetInt64(need), m.level)
		wait := lack.Mul(lack, big.NewRat(m.p.B, m.p.A))
		up := new(big.Int).Neg(floorRat(wait.Neg(wait)))
		up.Add(up, big.NewInt(m.at-now))
		if r.Retry = MaxTotal; up.IsInt64() {
			r.Retry = min(up.Int64(), MaxTotal)
		}
	}
	return r
}

func (m *model) lease(now int64, a LeaseArgs) LeaseReply {
	hold := a.Lease*1000 + (a.Lease*1000+63)/64 + 1000
	r := LeaseReply{Now: now, Created: !m.there}
	gone, want := min(a.Gone, a.Seen), a.Want
	if a.Leave {
		want = 0
	}
	if !m.there {
		if !m.marked || a.Seen > gone && now >= m.mark+hold {
			m.mark, m.marked = now, true
		}
		*m = model{p: a.Policy, at: m.mark + hold, there: true, level: new(big.Rat), nodes: map[Slot]*modelNode{}, mark: m.mark, marked: true}
		m.refill(now)
	} else {
		var ended []*modelNode
		for _, x := range m.nodes {
			if x.end <= now {
				x.want = 0
				ended = append(ended, x)
			}
		}
		sort.Slice(ended, func(i, j int) bool { return ended[i].end < ended[j].end })
		for _, x := range ended {
			m.refill(x.end)
			x.gone = x.granted
		}
		m.refill(now)
		r.Status = m.convert(a.Policy)
	}
	others := func() (n int64) {
		for slot, x := range m.nodes {
			if slot != a.Slot {
				n += x.want
			}
		}
		return n
	}
	n := m.nodes[a.Slot]
	if n != nil && n.epoch > a.Epoch {
		return LeaseReply{Status: Stale, Now: now, Level: m.whole(), Learning: m.at > now, Wants: others() + n.want, Policy: m.p}
	}
	if n == nil || n.epoch < a.Epoch {
		m.nodes[a.Slot] = &modelNode{epoch: a.Epoch, granted: a.Seen, gone: a.Seen, returned: a.Returned} // written off
	} else {
		if a.Seen > n.granted {
			m.add(-(a.Seen - n.granted) * Unit)
			n.granted, n.gone = a.Seen, a.Seen
		}
		less := max(0, min(gone, n.granted)-n.gone)
		n.gone += less
		if back := a.Returned - n.returned; back > 0 {
			m.add(min(back, less) * Unit)
			n.returned = a.Returned
		}
	}
	n = m.nodes[a.Slot]
	n.want, n.end = want, now+hold
	r.Wants = others() + want
	if level := m.whole(); level >= Unit && want > 0 && a.Seen == n.granted {
		tokens := level / Unit
		share := min(tokens*want/r.Wants, tokens/2)
		grant := min(want, max(1, share))
		m.add(-grant * Unit)
		n.granted += grant
	}
	r.Granted, r.Gone, r.Level, r.Learning, r.Policy = n.granted, n.gone, m.whole(), m.at > now, m.p
	if a.Leave && n.gone == n.granted {
		delete(m.nodes, a.Slot)
	}
	return r
}

// pass puts the past back, as [rig.pass] does.
func (m *model) pass(us int64) {
	m.at -= us
	m.prunedNow -= us / 1_000_000
	for _, n := range m.nodes {
		n.end -= us
		n.seconds -= us / 1_000_000
	}
}
