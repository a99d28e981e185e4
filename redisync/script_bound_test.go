package redisync

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stage is one budget, nodes that spend it, and a clock that can be moved: the server's,
// plus what was passed.
type stage struct {
	*rig
	key, mark string
	p         Policy
	ahead     int64 // µs

	// A budget kept exactly: what was spent may never exceed it.
	level *big.Rat
	at    int64
	worst *big.Rat
	spent int64
}

func newStage(t *testing.T, name string, p Policy) *stage {
	r := newRig(t)
	s := &stage{rig: r, p: p, level: new(big.Rat).SetInt64(p.C), worst: new(big.Rat).SetInt64(p.C)}
	s.key, s.mark = LeaseKey("tickgate", name, "l", "x")
	s.at = s.now()
	return s
}

func (s *stage) now() int64 {
	v := s.srv.Must("TIME").([]any)
	sec, err1 := strconv.ParseInt(v[0].(string), 10, 64)
	us, err2 := strconv.ParseInt(v[1].(string), 10, 64)
	require.NoError(s.t, err1)
	require.NoError(s.t, err2)
	return sec*1_000_000 + us + s.ahead
}

func (s *stage) wait(d time.Duration) {
	if s.srv.Must("EXISTS", s.key) == int64(1) {
		s.pass(s.key, d)
	}
	if v := s.srv.Text("GET", s.mark); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		require.NoError(s.t, err)
		s.srv.Must("SET", s.mark, dec(n-d.Microseconds()))
	}
	s.ahead += d.Microseconds()
}

// spend notes that n tokens were used now.
func (s *stage) spend(n int64) {
	now := s.now()
	gain := new(big.Rat).Mul(big.NewRat(s.p.A, s.p.B), new(big.Rat).SetInt64(now-s.at))
	s.level.Add(s.level, gain)
	if c := new(big.Rat).SetInt64(s.p.C); s.level.Cmp(c) > 0 {
		s.level = c
	}
	s.at = now
	s.level.Sub(s.level, new(big.Rat).SetInt64(n*Unit))
	if s.level.Cmp(s.worst) < 0 {
		s.worst.Set(s.level)
	}
	s.spent += n
}

// holder is a node that keeps the rules of leases.
type holder struct {
	slot                 Slot
	epoch                int64
	seen, gone, returned int64
	left                 int64
	until                int64 // by the stage's clock
}

func (s *stage) holderCalls(h *holder, want, back int64, lose int) {
	back = min(back, h.left)
	if s.now() >= h.until && h.left > 0 {
		s.renew(h)
		back = 0
	}
	h.left -= back
	h.returned += back
	h.gone = h.seen - h.left
	a := LeaseArgs{
		Slot: h.slot, Epoch: h.epoch, Seen: h.seen, Gone: h.gone, Returned: h.returned, Want: want,
		Policy: s.p, Keep: 60_000, Lease: term, MarkTTL: MarkTTL,
	}
	sent := s.now()
	if lose == 1 { // the request
		return
	}
	reply := s.lease(s.key, s.mark, a)
	if lose == 2 {
		return
	}
	if reply.Status == Stale {
		s.t.Errorf("%s: stale", h.slot)
		return
	}
	if reply.Gone > h.gone {
		h.left, h.gone = reply.Granted-reply.Gone, reply.Gone
	} else {
		h.left += reply.Granted - h.seen
	}
	h.seen = reply.Granted
	h.until = sent + term*1000
}

// renew drops what is left and begins a new record.
func (s *stage) renew(h *holder) { *h = holder{slot: h.slot, epoch: h.epoch + 1, until: h.until} }

func (s *stage) holderSpends(h *holder, n int64) {
	if n = min(n, h.left); n > 0 && s.now() < h.until {
		h.left -= n
		s.spend(n)
	}
}

// TestLeasesNeverExceed spends as fast as leases allow, with lost requests and replies,
// nodes that stop past their lease or vanish, and a Redis that loses everything.
func TestLeasesNeverExceed(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 7))
			p, err := PolicyOf(200+rnd.Int64N(2_000), time.Second, 50+rnd.Int64N(500), 1)
			require.NoError(t, err)
			s := newStage(t, fmt.Sprint("seed", seed), p)
			s.markFull()
			holders := []*holder{{slot: "node1", epoch: 1}, {slot: "node2", epoch: 1}, {slot: "node3", epoch: 1}}
			for range 300 {
				h := holders[rnd.IntN(len(holders))]
				switch rnd.IntN(12) {
				case 0:
					s.wait(time.Duration(rnd.Int64N(int64(term*time.Millisecond) * 3 / 2)))
				case 1, 2:
					s.wait(time.Duration(rnd.Int64N(int64(20 * time.Millisecond))))
				case 3:
					if rnd.IntN(4) == 0 {
						s.srv.Must("FLUSHALL")
					}
				case 4:
					if rnd.IntN(4) == 0 { // killed, and another starts
						*h = holder{slot: h.slot[:4] + Slot(fmt.Sprint(h.slot[4:], "x")), epoch: 1}
						if len(h.slot) > 30 {
							h.slot = "node9"
						}
					}
				case 5, 6, 7:
					s.holderSpends(h, 1+rnd.Int64N(200))
				default:
					s.holderCalls(h, rnd.Int64N(200), max(0, rnd.Int64N(40)-30), rnd.IntN(8))
					s.holderSpends(h, rnd.Int64N(100))
				}
			}
			require.GreaterOrEqual(t, s.worst.Sign(), 0, "exceeded by %s millionths of a token", s.worst.FloatString(0))
			require.Greater(t, s.spent, p.C/Unit, "something was spent")
		})
	}
}

// TestLeasesNeverExceedThoughAllIsLost is the worst case of a loss: all is held and
// unspent when Redis loses it, and spent at the end of the leases together with all that
// a new node can have until then.
func TestLeasesNeverExceedThoughAllIsLost(t *testing.T) {
	s := newStage(t, "lost", quick)
	s.markFull()
	old := []*holder{{slot: "node1", epoch: 1}, {slot: "node2", epoch: 1}}
	for range 12 {
		for _, h := range old {
			s.holderCalls(h, 1_000, 0, 0)
		}
	}
	require.Greater(t, old[0].left+old[1].left, int64(950))
	s.srv.Must("FLUSHALL")
	s.rig.mark(s.mark, 0)
	s.wait(term * time.Millisecond * 8 / 10)
	late := &holder{slot: "node3", epoch: 1}
	for range 12 {
		s.holderCalls(late, 1_000, 0, 0)
	}
	s.holderSpends(late, late.left)
	for _, h := range old {
		s.holderSpends(h, h.left)
	}
	require.Greater(t, s.spent, int64(950), "the leases were good still")
	require.GreaterOrEqual(t, s.worst.Sign(), 0, s.worst.FloatString(0))
}

// markFull vouches that the budget is full and nothing is held.
func (s *stage) markFull() { require.True(s.t, s.rig.mark(s.mark, 40*time.Hour).Made) }

// TestCreditConserves checks, for nodes whose calls are lost and repeated at random,
// that what Redis has is exactly what was refilled less what they used, whatever was
// forgiven.
func TestCreditConserves(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 9))
	r := newRig(t)
	p, err := PolicyOf(3_333, time.Second, 1_000_000, 1)
	require.NoError(t, err)
	type node struct{ total, base int64 }
	nodes := map[Slot]*node{"node1": {}, "node2": {}, "node3": {}}
	args := func(slot Slot) CreditArgs {
		n := nodes[slot]
		return CreditArgs{Slot: slot, Epoch: 1, Total: n.total, Base: n.base, Policy: p, Keep: 60_000, Est: p.C / 2, Debt: 300 * Unit}
	}
	first := r.credit("k", args("node1"))
	forgiven := int64(0)
	var last CreditReply
	for range 500 {
		for slot, n := range nodes {
			old := args(slot)
			n.total += rnd.Int64N(2_000)
			if rnd.IntN(3) == 0 {
				continue // the request is lost
			}
			last = r.credit("k", args(slot))
			forgiven += last.Forgiven
			if rnd.IntN(3) > 0 {
				n.base = last.Total
			}
			if rnd.IntN(3) == 0 {
				late := r.credit("k", old)
				forgiven += late.Forgiven
				require.Zero(t, late.Forgiven)
			}
		}
	}
	used := int64(0)
	for slot := range nodes {
		last = r.credit("k", args(slot))
		forgiven += last.Forgiven
		used += last.Total
	}
	gain := new(big.Int).Mul(big.NewInt(last.Now-first.Now), big.NewInt(p.A))
	gain.Div(gain, big.NewInt(p.B))
	require.Equal(t, first.Level+gain.Int64()-used*Unit+forgiven, last.Level)
	require.Positive(t, forgiven)
}
