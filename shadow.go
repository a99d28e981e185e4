package tickgate

import (
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/shard"
)

// A policy in shadow mode decides like any other, and what its limits deny passes: how
// it would do can be seen before it does. Nothing is taken for what it would have
// denied, so its denials are those that it would have made. What no limit denied, a
// block, a ban or a bad request, stays denied.

// waived reports whether a verdict of a policy in shadow mode is let pass.
func waived(v shard.Verdict) bool {
	switch v {
	case shard.Limited, shard.TooCostly, shard.Full, shard.Unsettled:
		return true
	}
	return false
}

// passes counts a decision that is not Allowed, and reports whether it passes all the
// same.
func passes(p *shard.Policy, v shard.Verdict) bool {
	switch {
	case v == shard.Unsettled && p.Remote():
		return false // by Ledger.Decided
	case p.Shadow() && waived(v):
		p.CountShadowed()
		return true
	}
	count(p, v)
	return false
}

// count counts a decision as it is.
func count(p *shard.Policy, v shard.Verdict) {
	switch v {
	case shard.Allowed:
		p.CountAllowed()
	case shard.Blocked, shard.Banned:
		p.CountBarred()
	default:
		p.CountDenied()
	}
}

// conclude lets what is in the shadow pass, and counts the decision if it is to be.
func conclude(d *Decision, p *shard.Policy, v shard.Verdict, counts bool) {
	switch {
	case v == shard.Allowed:
		switch {
		case !counts:
		case d.receipt.near:
			p.CountNear()
		default:
			p.CountAllowed()
		}
	case !counts:
		d.Shadow = p.Shadow() && waived(v)
		d.Allowed = d.Shadow
	default:
		d.Shadow = passes(p, v)
		d.Allowed = d.Shadow
	}
}

// inShadow reports whether the handle's policy is in shadow mode.
func (h *handle) inShadow() bool { return h.pin.Policy().Shadow() }

// unwaited takes n tokens, or passes without: in shadow mode nobody waits.
func (h Handle) unwaited(n int64) error {
	if d := h.Take(n); !d.Allowed {
		return unusable(d.Reason)
	}
	return nil
}

// shadows reports whether the policy of a key is in shadow mode.
func (j *joined) shadows() bool {
	for _, h := range j.pins {
		if h.pin.Policy().Shadow() {
			return true
		}
	}
	return false
}

// without decides again what a key in the shadow denied, as d says, with that key left
// out, and so on. It returns the verdict, and which keys were left out. The denial that
// is told of an admission is the first.
func (j *joined) without(d *Decision, now clock.Time, a *shard.GroupAsk, v shard.Verdict) (shard.Verdict, uint32) {
	if a.N == 0 {
		d.Shadow = waived(v) && j.pins[d.Member].pin.Policy().Shadow()
		d.Allowed = d.Shadow
		return v, 0
	}
	each := make([]int64, len(j.pins))
	for i := range each {
		each[i] = a.N
		if a.Each != nil {
			each[i] = a.Each[i]
		}
	}
	first, shadowed := *d, uint32(0)
	number := j.pins[0].g.number
	for waived(v) && j.pins[d.Member].pin.Policy().Shadow() && shadowed>>d.Member&1 == 0 {
		shadowed |= 1 << d.Member
		each[d.Member] = 0
		rest := shard.GroupAsk{Each: each, Urgent: a.Urgent}
		for _, n := range each {
			rest.N = max(rest.N, n)
		}
		*d = Decision{}
		if rest.N == 0 { // every key is in the shadow, and denies
			v = shard.Allowed
			break
		}
		var r shard.Result
		var which int
		v, which = j.of.Take(now, &rest, &r)
		decide(d, number, v, &r, rest.N)
		d.Member = which
	}
	if v == shard.Allowed {
		d.Allowed, d.Shadow = true, true
		d.Reason, d.Limit, d.Member = first.Reason, first.Limit, first.Member
		d.Remaining, d.RetryAfter, d.ResetAfter, d.Window = first.Remaining, first.RetryAfter, first.ResetAfter, first.Window
	}
	return v, shadowed
}
