package tickgate

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/shard"
)

// Group is several keys that decide together: session, account and firm, or the
// several counts that a venue keeps. What it takes it takes from every limit of
// every one of them, or from none. It is a small value to copy, for any number of
// goroutines. The zero Group, and one of which a handle was released, denies with
// BadRequest.
//
// Groups that share keys may be joined in any order: no two can block each other.
type Group struct{ g *group }

type group struct {
	gate    *Gate
	number  uint64
	handles []*handle
	now     atomic.Pointer[joined]
}

// groupBit tells a group's number from a key's slot, which is below 2^59.
const groupBit = 1 << 63

// joined is a group as its handles are now.
type joined struct {
	of   *shard.Group
	pins []*handle // the handles in use, in the order of Join
}

// Join makes a group of 1 to 8 handles of one gate. The same key twice is an error:
// it would be charged twice. The handles stay the caller's, and are to be released
// by it, after the group's last use.
func Join(handles ...Handle) (Group, error) {
	if len(handles) == 0 || len(handles) > shard.MaxJoin {
		return Group{}, joinError(shard.ErrJoinCount)
	}
	g := &group{}
	for _, h := range handles {
		if h.h == nil || h.h.state.Load() == released {
			return Group{}, joinError(errors.New("a handle is the zero Handle or was released"))
		}
		if g.gate == nil {
			g.gate = h.h.g
		}
		if h.h.g != g.gate {
			return Group{}, joinError(shard.ErrJoinTable)
		}
		g.handles = append(g.handles, h.h)
	}
	g.number = g.gate.groups.Add(1) | groupBit
	if _, why, err := g.resolve(); err != nil {
		return Group{}, joinError(err)
	} else if why != OK {
		return Group{}, joinError(errors.New("a handle cannot be used: " + why.String()))
	}
	return Group{g}, nil
}

func joinError(err error) error { return fmt.Errorf("tickgate: join: %w", err) }

// resolve joins the handles anew, which their policies or their being released
// made stale.
func (g *group) resolve() (*joined, Reason, error) {
	for _, h := range g.handles {
		if _, why := (Handle{h}).resolve(); why != OK {
			return nil, why, nil // before anything is allocated
		}
	}
	j := &joined{}
	var pins []shard.Pin
	for _, h := range g.handles {
		to, why := (Handle{h}).resolve()
		if why != OK {
			return nil, why, nil
		}
		j.pins = append(j.pins, to)
		pins = append(pins, to.pin)
	}
	var err error
	if j.of, err = shard.Join(pins); err != nil {
		return nil, BadRequest, err
	}
	g.now.Store(j)
	return j, OK, nil
}

// joined returns the group as its handles are now.
func (g *group) joined() (*joined, Reason) {
	j := g.now.Load()
	for _, h := range j.pins {
		if h.state.Load() != inUse {
			j, why, _ := g.resolve()
			return j, why
		}
	}
	return j, OK
}

// Allow is AllowAt with one token at the clock's time.
func (g Group) Allow() bool {
	if g.g == nil {
		return false
	}
	return g.AllowAt(g.g.gate.Now(), 1)
}

// AllowAt takes n tokens from every key at now, or from none, and reports whether
// they were there.
func (g Group) AllowAt(now clock.Time, n int64) bool {
	if g.g == nil || n <= 0 {
		return g.TakeAt(now, n).Allowed
	}
	j, why := g.g.joined()
	if why != OK {
		return g.TakeAt(now, n).Allowed
	}
	v := j.of.Allow(now, n)
	if v != shard.Allowed && j.shadows() {
		return g.TakeAt(now, n).Allowed
	}
	j.count(v, 0, -1)
	runtime.KeepAlive(g.g)
	return v == shard.Allowed
}

// count counts the decision with the policy of every key. Those of the set passed though
// they denied; the one numbered near, -1 for none, has little left.
func (j *joined) count(v shard.Verdict, shadowed uint32, near int) {
	for i, h := range j.pins {
		p := h.pin.Policy()
		switch {
		case v != shard.Allowed:
			count(p, v)
		case shadowed>>i&1 == 1:
			p.CountShadowed()
		case i == near:
			p.CountNear()
		default:
			p.CountAllowed()
		}
	}
}

// TakeAt takes n tokens from every limit of every key at now, or from none, and
// explains the decision: Limit names the limit that decided, Member the handle it
// is of, counted in the order of Join. n == 0 looks without taking.
func (g Group) TakeAt(now clock.Time, n int64) (d Decision) {
	g.take(&d, now, &shard.GroupAsk{N: n})
	return d
}

// TakeUrgentAt is TakeAt for what must get out, as [Handle.TakeUrgentAt] is.
func (g Group) TakeUrgentAt(now clock.Time, n int64) (d Decision) {
	g.take(&d, now, &shard.GroupAsk{N: n, Urgent: true})
	return d
}

// TakeEachAt is TakeAt with as many tokens of each key as each says, in the order
// of Join: a request that weighs 5 for one count of the venue and 1 for another. 0
// leaves a key out. A wrong number of them is a BadRequest.
func (g Group) TakeEachAt(now clock.Time, each ...int64) (d Decision) {
	g.takeEach(&d, now, each, false)
	return d
}

// TakeUrgentEachAt is TakeEachAt for what must get out.
func (g Group) TakeUrgentEachAt(now clock.Time, each ...int64) (d Decision) {
	g.takeEach(&d, now, each, true)
	return d
}

func (g Group) takeEach(d *Decision, now clock.Time, each []int64, urgent bool) {
	if g.g == nil || len(each) != len(g.g.handles) {
		g.refuse(d)
		return
	}
	n := int64(0)
	for _, e := range each {
		if e < 0 {
			g.refuse(d)
			return
		}
		n = max(n, e)
	}
	g.take(d, now, &shard.GroupAsk{N: n, Each: each, Urgent: urgent})
}

// refuse is a bad request.
func (g Group) refuse(d *Decision) {
	if g.g != nil {
		g.g.gate.bad.Inc()
	}
	d.refuse(BadRequest)
}

func (g Group) take(d *Decision, now clock.Time, a *shard.GroupAsk) {
	if g.g == nil || a.N < 0 {
		g.refuse(d)
		return
	}
	j, why := g.g.joined()
	if why != OK {
		if why == BadRequest {
			g.g.gate.bad.Inc()
		}
		d.refuse(why)
		return
	}
	applied := g.g.gate.routes.Load().number
	var r shard.Result
	v, which := j.of.Take(now, a, &r)
	decide(d, g.g.gate.number, v, &r, a.N)
	d.Member = which
	shadowed := uint32(0)
	if v != shard.Allowed && j.shadows() {
		v, shadowed = j.without(d, now, a, v)
	}
	runtime.KeepAlive(g.g)
	if a.N > 0 {
		near := -1
		if d.receipt.near {
			near = d.Member
		}
		j.count(v, shadowed, near)
	}
	if v == shard.Allowed && a.N > 0 {
		d.receipt.slot, d.receipt.gen = g.g.number, applied
	}
}

// current returns the group if d is an admission of it, and no policy was applied
// since.
func (g Group) current(d Decision) (*joined, bool) {
	if g.g == nil || !d.Allowed || d.receipt.gate != g.g.gate.number || d.receipt.slot != g.g.number ||
		d.receipt.gen != g.g.gate.routes.Load().number {
		return nil, false
	}
	j, why := g.g.joined()
	return j, why == OK
}

// Refund gives back what d, a decision of this group, took, from every key: what
// time has not refilled since. Like [Handle.Refund] it never gives more than if d
// had not been; it gives less where other tokens were still owed at d, since a
// group's decision does not remember that for every key. Of more than 8 limits in
// all, those beyond are left alone. After Apply it gives nothing.
func (g Group) Refund(d Decision) {
	if j, ok := g.current(d); ok && d.receipt.marked {
		j.of.Refund(d.receipt.charged.At, &d.receipt.marks)
		runtime.KeepAlive(g.g)
		g.g.news()
	}
}

// news is that of each key.
func (g *group) news() {
	for _, h := range g.handles {
		h.news()
	}
}

// SyncUsed is [Handle.SyncUsed] for a decision of this group, on the limit of the
// handle member, counted in the order of Join.
func (g Group) SyncUsed(d Decision, member int, limit string, used int64) {
	if g.g != nil && used < 0 {
		g.g.gate.bad.Inc()
		return
	}
	if j, ok := g.current(d); ok && d.receipt.known && member >= 0 && member < len(j.pins) {
		j.of.SyncUsed(g.g.gate.Now(), d.receipt.charged.At, &d.receipt.marks, member, limit, used)
		runtime.KeepAlive(g.g)
		g.g.news()
	}
}
