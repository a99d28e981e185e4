package latency

import (
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/numeral"
)

// The endpoints of the gate.
const (
	open   = "order.new"    // admits every call
	closed = "order.closed" // admits one call a day
)

// batchSize is how many decisions one TakeBatch makes.
const batchSize = 64

// The names of the paths, as a user gives them.
const (
	handleAt, handleAtDeny, handleClock = "handle-at", "handle-at-deny", "handle"
	endpointHot, gateHot                = "endpoint", "gate-hot"
	gate10k, gateAll                    = "gate-10k", "gate-all"
	batch, firstRoom, firstFull         = "batch", "first-seen", "first-seen-full"
)

// Names returns the names of all paths, in the order of the report.
func Names() []string {
	return []string{handleAt, handleAtDeny, handleClock, endpointHot, gateHot, gate10k, gateAll, batch, firstRoom, firstFull}
}

// path is one way of asking a gate.
type path struct {
	name      string
	what      string // one line for the reader
	decisions int    // that one call makes
	want      int    // of them allowed
	call      call   // what is measured
	next      func() // chooses the key of the call to come; nil: there is one key
	// ready prepares a slice and returns how many calls it has; nil: any number.
	ready func() (int, error)
}

// rig is the gates that are measured, and their paths.
type rig struct {
	clock clock.Clock
	gate  *tickgate.Gate
	keys  int
	close []func()
	paths []path
}

// policies never runs out at one endpoint, and is out after one call at the
// other.
func policies() policy.Set {
	return policy.Set{
		{Endpoint: open, Limits: []policy.Limit{{Name: "rate", Tokens: 1e9, Per: time.Second, Burst: 1e9}}},
		{Endpoint: closed, Limits: []policy.Limit{{Name: "rate", Tokens: 1, Per: 24 * time.Hour, Burst: 1}}},
	}
}

// newRig makes a gate, fills it with the keys of o, and makes the paths that o
// asks for. The caller releases it.
func newRig(o Options) (r *rig, err error) {
	r = &rig{clock: o.Clock, keys: o.Keys}
	defer func() {
		if err != nil {
			r.release()
		}
	}()
	if r.gate, err = newGate(o.Keys+o.Keys/4, o.Clock); err != nil {
		return nil, err
	}
	r.close = append(r.close, func() { _ = r.gate.Close() })
	for i := range o.Keys {
		r.gate.AllowN(key(i), open, 1)
	}
	handle, err := r.handle(open)
	if err != nil {
		return nil, err
	}
	denied, err := r.handle(closed)
	if err != nil {
		return nil, err
	}
	denied.Allow()
	for _, name := range Names() {
		if !o.wants(name) {
			continue
		}
		p := path{name: name, decisions: 1, want: 1}
		switch name {
		case handleAt:
			p.what = "Handle.AllowAt, the caller's time"
			p.call = func(now clock.Time) int { return one(handle.AllowAt(now, 1)) }
		case handleAtDeny:
			p.what, p.want = "Handle.AllowAt, denied", 0
			p.call = func(now clock.Time) int { return one(denied.AllowAt(now, 1)) }
		case handleClock:
			p.what = "Handle.Allow, the gate's clock"
			p.call = func(clock.Time) int { return one(handle.Allow()) }
		case endpointHot:
			p.what = "Endpoint.Allow, one key"
			e, k := r.gate.Endpoint(open), key(0)
			p.call = func(clock.Time) int { return one(e.Allow(k)) }
		case gateHot:
			p.what = "Gate.Allow, one key"
			k := key(0)
			p.call = func(clock.Time) int { return one(r.gate.Allow(k, open)) }
		case gate10k:
			r.gateOver(&p, MinKeys)
		case gateAll:
			r.gateOver(&p, o.Keys)
		case batch:
			r.batch(&p)
		case firstRoom:
			r.firstRoom(&p)
		case firstFull:
			err = r.firstFull(&p)
		}
		if err != nil {
			return nil, err
		}
		r.paths = append(r.paths, p)
	}
	return r, nil
}

func newGate(maxKeys int, c clock.Clock) (*tickgate.Gate, error) {
	return tickgate.New(tickgate.Config{Policies: policies(), MaxKeys: maxKeys, Clock: c, Wall: clock.NewManualWall(0)})
}

func (r *rig) handle(endpoint string) (tickgate.Handle, error) {
	h, err := r.gate.Handle("account-pinned", endpoint)
	if err == nil {
		r.close = append(r.close, h.Release)
	}
	return h, err
}

// release gives everything back, the latest first.
func (r *rig) release() {
	for i := len(r.close) - 1; i >= 0; i-- {
		r.close[i]()
	}
	r.close = nil
}

func (r *rig) gateOver(p *path, keys int) {
	p.what = "Gate.Allow, " + numeral.Comma(int64(keys)) + " keys in random order"
	s, k := shuffled(keys), ""
	p.next = func() { k = s.next() }
	p.call = func(clock.Time) int { return one(r.gate.Allow(k, open)) }
}

// batch measures whole batches: one is asked for as one, and its decisions come
// together.
func (r *rig) batch(p *path) {
	p.what = "Gate.TakeBatch of 64, " + numeral.Comma(int64(r.keys)) + " keys in random order"
	p.decisions, p.want = batchSize, batchSize
	s := shuffled(r.keys)
	var reqs [batchSize]tickgate.Request
	var out [batchSize]tickgate.Decision
	p.next = func() {
		for i := range reqs {
			reqs[i] = tickgate.Request{APIKey: s.next(), Endpoint: open, N: 1}
		}
	}
	p.call = func(now clock.Time) int {
		r.gate.TakeBatch(now, reqs[:], out[:])
		allowed := 0
		for i := range out {
			allowed += one(out[i].Allowed)
		}
		return allowed
	}
}

func one(allowed bool) int {
	if allowed {
		return 1
	}
	return 0
}
