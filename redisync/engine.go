package redisync

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// ledger is what the engine needs of a [tickgate.Ledger].
type ledger interface {
	Kicked() bool
	Collect(each func(tickgate.Account))
	Describe(tickgate.Account) (tickgate.Terms, bool)
	Open(tickgate.Account) (tickgate.Usage, bool)
	Settle(tickgate.Account, tickgate.Settlement) bool
	SetFirst(endpoint string, n int64)
	SetRetry(endpoint string, d time.Duration)
	Shut(endpoint string, shut bool)
	Close() error
}

// engine reconciles the accounts of a gate with Redis. It is a machine without a
// thread of its own: step does what is due at a time, finish takes what came back, and
// whoever calls them (the loop of [Sync]; a test) holds mu. Nothing in it waits.
//
//	gate ──Collect──▶ queue ──send──▶ in flight ──answered──▶ idle ──full──▶ forgotten
//	                    ▲                 │ failed             (lease: held, until returned)
//	                    └──── parked ◀────┘
//	                       grants while away
type engine struct {
	Config
	ledger    ledger
	transport Transport
	policies  func() policy.Set
	wall      func() int64 // ms since 1970
	rand      *rand.Rand
	slot      Slot
	laner     Laner                               // nil: there is one lane
	changed   func(set policy.Set, version int64) // told of the policies at first and when they change; may be nil

	mu sync.Mutex // held by whoever steps, and by Stats

	records map[tickgate.Account]*record
	peak    int // most records since the map was made
	terms   map[name]*terms
	free    []*record
	vague   []vague
	epoch   int64  // of the newest record
	flights uint64 // number of the newest call

	queue    queue
	floor    int // only classes from it are sent
	parked   list
	idle     list
	held     list // leases that have enough
	inFlight int  // calls

	batches  []*batch
	filling  []*batch // by lane: not full yet
	lanes    []lane
	throttle throttle
	carry    func(*batch) // has the calls made, and finish called with it afterwards
	carriers sync.WaitGroup
	results  chan *batch

	rtt     latency    // from the call to its reply
	lag     latency    // from the use to the settlement
	heardAt clock.Time // when a call was last answered
	home    int        // the lane of heartbeats
	fuse    bool       // all lanes are silent for MaxAge
	closing bool
	stopped bool
	rounds  int // of collecting, since it is closing
	untold  int // records that Redis refused to be told of, since it is closing
	refusal error

	set      policy.Set
	inForce  map[name]int64               // versions that are said to be, by the policy's endpoint
	parts    map[string]map[string]string // by the policy's endpoint and the limit's label, see limitPart
	version  int64                        // of set, ms
	nodes    int64
	fewer    int // heartbeats in a row that told of fewer
	beating  bool
	nextBeat clock.Time
	nextMark clock.Time
	bucket   int        // the next to be marked; Buckets: all were
	nextLook clock.Time // at the policies
	next     clock.Time // of the next interval
	look     clock.Time // when to look for a kick
	kicked   clock.Time // when there was one last
	tick     time.Duration
	collect  func(tickgate.Account)
	now      clock.Time // of this step

	hush  hush
	stats counters
	debt  int64 // greatest, in millionths, of the answers since the last heartbeat
}

// Records are kept for reuse up to spare, and idle ones up to mostIdle: the price of
// forgetting one early is that its node does not notice if Redis loses its last calls.
const (
	spare    = 1 << 12
	mostIdle = 1 << 16
)

// newEngine makes an engine of a checked configuration. ledger and carry are to be set.
func newEngine(cfg Config, slot Slot) *engine {
	e := &engine{
		Config: cfg, transport: cfg.Transport, policies: cfg.Gate.Policies, slot: slot, rand: rand.New(cfg.Rand),
		wall:    func() int64 { return time.Now().UnixMilli() },
		records: map[tickgate.Account]*record{}, terms: map[name]*terms{},
		results: make(chan *batch, 2*mostBatches),
		lanes:   make([]lane, 1),
		nodes:   int64(max(1, cfg.Nodes)),
		version: cfg.Since.UnixMilli(),
		bucket:  Buckets,
		floor:   urgent,
	}
	e.laner, _ = e.transport.(Laner)
	if e.laner != nil {
		e.lanes = make([]lane, min(mostBatches, max(1, e.laner.Lanes())))
	}
	for i := range e.lanes {
		e.lanes[i].window = mostBatches / len(e.lanes)
	}
	e.filling = make([]*batch, len(e.lanes))
	e.findPulses()
	e.tick = min(cfg.Interval, max(200*time.Microsecond, cfg.Interval/10))
	now := cfg.Clock.Now()
	e.throttle = newThrottle(int64(cfg.MaxSyncs), e.tick, now)
	e.collect = e.collected
	e.next = now.Add(time.Duration(e.rand.Float64() * float64(cfg.Interval))) // a phase of its own
	e.look, e.nextBeat, e.nextMark, e.nextLook, e.heardAt, e.kicked = now, now, now.Add(markEvery), now, now, now
	return e
}

// step does what is due, and returns how long nothing more will be.
func (e *engine) step(now clock.Time) time.Duration {
	e.at(now)
	e.giveUp(now)
	e.throttle.advance(now)
	if now >= e.look {
		regular, kicked := now >= e.next, e.ledger.Kicked()
		if regular {
			e.next = now.Add(time.Duration((.9 + .2*e.rand.Float64()) * float64(e.Interval)))
			e.floor = 0
		}
		if now >= e.nextLook {
			e.nextLook = now.Add(refreshEvery)
			e.refresh()
		}
		if kicked {
			e.kicked = now
		}
		if regular || e.closing || kicked {
			e.again()
			e.ledger.Collect(e.collect)
			e.rounds++
		}
		e.judge(now)
		e.tendParked(now)
		if regular {
			e.tendIdle(now)
			e.tendHeld(now)
			e.shrink()
		}
		e.look = now.Add(e.tick)
	}
	if now >= e.nextBeat && !e.beating && !e.closing {
		e.beat(now)
	}
	if now >= e.nextMark {
		e.nextMark, e.bucket = now.Add(markEvery), 0
	}
	e.touchMarks(now)
	e.send(now)
	if !e.closing {
		e.pulse(now)
	}
	if e.calm(now) {
		e.look = max(e.look, e.next)
	}
	return max(0, e.look.Sub(now))
}

// calmAfter is how long no key must have used half of its credit, or wanted a lease, for
// the loop to wake up no oftener than an Interval: a tick matters to those alone.
const calmAfter = time.Second

// calm reports whether nothing needs to be done before the next interval.
func (e *engine) calm(now clock.Time) bool {
	if e.closing || e.parked.n > 0 || e.queue.len() > 0 || len(e.vague) > 0 || now.Sub(e.kicked) < calmAfter {
		return false
	}
	for i := range e.lanes {
		if e.lanes[i].dead != 0 || e.lanes[i].down {
			return false
		}
	}
	return e.bucket >= Buckets
}

// collected takes an account that the gate has news of.
func (e *engine) collected(id tickgate.Account) {
	r := e.records[id]
	if r == nil {
		if r = e.meet(id); r == nil {
			return
		}
	}
	if r.flying() {
		r.dirty = true
		return
	}
	if r.in == &e.parked {
		return // it has been waiting already
	}
	e.enqueue(r)
}

// enqueue puts a record into its class, or lets it go where it has nothing to tell.
func (e *engine) enqueue(r *record) {
	u, ok := e.ledger.Open(r.id)
	if !ok {
		e.forget(r)
		return
	}
	if r.lease != nil {
		e.weigh(r, u)
		return
	}
	r.class = uint8(class(u.Pending, max(1, r.terms.Credit)))
	e.wait(r)
}

// wait puts a record into its class.
func (e *engine) wait(r *record) {
	if r.since == 0 {
		r.since = e.now
	}
	e.queue[r.class].push(r)
}

// send sends what the queue holds, as far as lanes and throttle let it.
func (e *engine) send(now clock.Time) {
	for e.throttle.left > 0 {
		r := e.queue.pop(e.floor)
		if r == nil {
			e.floor = urgent
			break
		}
		l := &e.lanes[r.lane]
		if now < r.retry || l.down && !l.probe(now) || !l.down && l.out >= l.window {
			e.parked.push(r)
			continue
		}
		b := e.filling[r.lane]
		if b == nil {
			if b = e.take(forRecords, r.lane); b == nil {
				e.queue[r.class].push(r)
				break
			}
			b.probe = l.down
			e.filling[r.lane] = b
		}
		if !e.load(b, r, now) {
			continue
		}
		e.throttle.left--
		if b.probe || len(b.calls) == chunk {
			e.filling[r.lane] = nil
			e.launch(b, now)
		}
	}
	for i, b := range e.filling {
		if b == nil {
			continue
		}
		e.filling[i] = nil
		if len(b.calls) == 0 {
			b.busy = false
			continue
		}
		e.launch(b, now)
	}
}

// load puts a record's call into a batch. It reports false where there is nothing to
// tell.
func (e *engine) load(b *batch, r *record, now clock.Time) bool {
	if !e.confirm(r, now) {
		return false
	}
	if r.lease != nil {
		return e.loadLease(b, r, now)
	}
	return e.loadCredit(b, r, now)
}

// land deals with the reply to a call.
func (e *engine) land(f *flight, reply Reply, b *batch, now clock.Time) {
	e.inFlight--
	r := f.r
	if r.flight != f.number {
		return
	}
	r.flight = 0
	if r.gone {
		e.drop(r)
		return
	}
	if r.lease != nil {
		e.landLease(r, f, reply, b, now)
		return
	}
	e.landCredit(r, f, reply, b, now)
}

// miss notes a call without an answer that can be used, and puts the record aside. It
// waits longer each time if the lane is up: then it is the key that is in trouble.
func (e *engine) miss(r *record, err error, now clock.Time) {
	e.stats.fail(err)
	if errors.Is(err, ErrRefused) {
		if e.hush.may("refused", now) {
			e.Log.Error("redisync: Redis refuses calls, and will until somebody mends it", "endpoint", r.terms.Endpoint, "limit", r.terms.Limit, "error", err)
		}
		if e.closing {
			e.untold++
			e.refusal = err
			e.forget(r)
			return
		}
	}
	r.fails = min(r.fails+1, 200)
	r.retry = now
	if !e.lanes[r.lane].down && r.fails > 1 {
		r.retry = now.Add(min(backoffMost/4, e.Interval<<min(r.fails, 10)*time.Duration(500+e.rand.IntN(500))/1000))
	}
	if r.since == 0 {
		r.since = now
	}
	e.parked.push(r)
}
