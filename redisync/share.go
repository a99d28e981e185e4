package redisync

import (
	"math/bits"

	"github.com/tickgate/tickgate/clock"
)

// share is the part of a budget that this node grants by itself while Redis is away: a
// bucket that holds the N-th part of the capacity and refills at the N-th part of the
// rate, N being the number of nodes that were last seen.
//
// It starts with the N-th part of what was left of the limit here, which is what the
// last answer said, refilled since, less what this node used. So all shares together
// start with what is left, and not with N parts of a full bucket.
//
// Redis goes on refilling meanwhile, and stops at the capacity. unused does the same:
// it is where level would be if nothing had been granted. The difference of the two is
// what Redis still has to be charged with at return: all that was used after a short
// absence, and after a long one no more than empties the share. Charging all of it
// would take the same refill away twice; charging nothing would give it twice.
//
// Tokens are taken when they are seen to be pending, and granted, which makes room in
// the credit for others, no faster than the share has what that room lets be used. So
// the credit does not come on top of the share.
type share struct {
	level  int64 // millionths of a token
	unused int64
	before int64 // pending tokens that were used before, and are not the share's
	seen   int64 // pending tokens that were taken
	most   int64
	part   uint64 // of a millionth: numerator over B·N
	at     clock.Time
	nodes  int64
}

// newShare starts a share with the N-th part of level, from which the pending tokens are
// taken off already.
func newShare(level, pending, capacity, nodes int64, now clock.Time) *share {
	s := &share{at: now, before: pending}
	s.resize(capacity, nodes)
	s.level = min(s.most, max(0, level)/nodes)
	s.unused = s.level
	return s
}

// resize makes it the N-th part of capacity, and one token at least: a budget of fewer
// tokens than there are nodes would otherwise be nothing for everybody. Then all shares
// together hold up to N - C more than C; their rates are right in any case.
func (s *share) resize(capacity, nodes int64) {
	s.most, s.nodes, s.part = max(Unit, capacity/nodes), nodes, 0
	s.level, s.unused = min(s.level, s.most), min(s.unused, s.most)
}

// advance refills up to now, for capacity and pace of the whole budget and nodes.
func (s *share) advance(p *Policy, nodes int64, now clock.Time) {
	if nodes != s.nodes || max(Unit, p.C/nodes) != s.most {
		s.resize(p.C, nodes)
	}
	us := int64(now.Sub(s.at)) / 1000
	if us <= 0 {
		return
	}
	s.at += clock.Time(us * 1000)
	hi, lo := bits.Mul64(uint64(us), uint64(p.A))
	lo, carry := bits.Add64(lo, s.part, 0)
	hi += carry
	bhi, over := bits.Mul64(uint64(p.B), uint64(nodes))
	if bhi != 0 { // more than half a million years for a token
		return
	}
	if hi >= over {
		s.level, s.unused, s.part = s.most, s.most, 0
		return
	}
	more, part := bits.Div64(hi, lo, over)
	s.part = part
	s.level = s.fill(s.level, more)
	s.unused = s.fill(s.unused, more)
}

// fill returns level and more, at most what fits.
func (s *share) fill(level int64, more uint64) int64 {
	if more >= uint64(s.most-level) {
		return s.most
	}
	return level + int64(more)
}

// see takes what is pending and was not seen before, and stops at none left.
func (s *share) see(pending int64) {
	if n := pending - s.before - s.seen; n > 0 {
		s.seen += n
		s.level = max(0, s.level-n*Unit)
	}
}

// room returns how many of the pending tokens may be granted.
func (s *share) room(pending, credit int64) int64 {
	return max(0, min(pending, s.level/Unit-(credit-pending)))
}

// grant notes that n pending tokens were granted, and returns how many of them are not
// the share's.
func (s *share) grant(n int64) (before int64) {
	before = min(n, s.before)
	s.before -= before
	s.seen = max(0, s.seen-(n-before))
	return before
}

// charge is the whole tokens that Redis has to be charged with at return, for what is
// granted and what is pending.
func (s *share) charge() int64 { return s.before + (s.unused-s.level)/Unit }
