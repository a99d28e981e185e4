//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tickgate/tickgate/redisync/admitted"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// settleFor is how long nodes may get to know each other before the load begins.
const settleFor = 5 * time.Second

// Bench is a scenario while it runs: the servers, the nodes and the links between.
type Bench struct {
	T       redistest.T
	Length  time.Duration
	Redis   *redistest.Server  // nil if it is a cluster
	Cluster *redistest.Cluster // nil if alone
	Players []Player
	Links   []*Link // of the players

	scenario *Scenario
	dir      string
	stalls   *stalls
	watch    stopwatch
	over     int64 // when the loads had ended, by watch
	start    time.Time
	begun    int64           // start, by watch
	quiet    [][]Silence     // of each link, when the loads had ended
	joined   []Counts        // of each link, when its node had joined
	left     map[int]*Report // of nodes that left before the end
	killed   map[int]bool
}

// Play runs a scenario for a length, or if that is 0 or too short for what happens in
// it, for its own, and judges it. What cannot be set up ends the test.
func (s *Scenario) Play(t redistest.T, length time.Duration) *Result {
	t.Helper()
	b := &Bench{
		T: t, scenario: s, Length: max(length, s.least()), watch: newStopwatch(),
		left: map[int]*Report{}, killed: map[int]bool{},
	}
	var err error
	if b.dir, err = os.MkdirTemp("", "tickgate-faults-"); err != nil {
		t.Fatalf("a folder for logs: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(b.dir) })
	b.serve()
	for i := range s.Nodes {
		b.Join(i)
	}
	b.settle()
	return b.play()
}

// serve starts the servers.
func (b *Bench) serve() {
	switch s := b.scenario; s.Topology {
	case Masters:
		b.Cluster = redistest.StartCluster(b.T, 3, 0, s.Server)
	case Replicas:
		b.Cluster = redistest.StartCluster(b.T, 3, 1, s.Server)
	default:
		b.Redis = redistest.Start(b.T, s.Server)
	}
}

// url names servers, or the proxies before them.
func (b *Bench) url(addrs []string) string { return "redis://" + strings.Join(addrs, ",") }

// Join adds a node. The load of one that joins late waits for its Begin.
func (b *Bench) Join(i int) Player {
	s := b.scenario
	link, err := NewLink(uint64(i)+1, b.addrs()...)
	b.must(err)
	b.T.Cleanup(link.Close)
	b.Links = append(b.Links, link)
	setup := Setup{
		Index: i, Nodes: s.Nodes, First: i < s.Nodes, URL: b.url(link.Addrs()), Mode: s.Mode, Limit: s.Limit, Credit: s.Credit,
		Interval: s.Interval, MaxAge: s.MaxAge, Away: s.Away, Deadline: s.Deadline, Load: s.Load,
		Events: b.events(),
	}
	var p Player
	if s.Processes {
		setup.Path = filepath.Join(b.dir, fmt.Sprintf("node-%d", i))
		process, err := Spawn(setup)
		b.must(err)
		b.T.Cleanup(process.Kill)
		p = process
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
		defer cancel()
		node, err := Start(ctx, setup)
		b.must(err)
		p = node
	}
	b.joined = append(b.joined, link.Counts())
	link.Set(s.Faults) // from now on: a node that cannot join is another matter
	b.Players = append(b.Players, p)
	return p
}

// events is the room of a log: four times all that the limits allow, and the bound.
func (b *Bench) events() int {
	s := b.scenario
	keys := max(1, s.Load.Keys)
	room := 4 * (s.Limit.Budget(b.Length+5*time.Second) + s.Expect.Bound)
	return min(1<<22, 1<<12+keys*int(room))
}

// settle waits until every node knows how many there are.
func (b *Bench) settle() {
	if b.scenario.Mode == Apart {
		return
	}
	deadline := time.Now().Add(settleFor)
	for _, p := range b.Players {
		for {
			stats, err := p.Stats()
			b.must(err)
			if stats.Nodes >= len(b.Players) {
				break
			}
			if time.Now().After(deadline) {
				b.T.Fatalf("%s: a node knows of %d nodes after %v, not of %d", b.scenario.Name, stats.Nodes, settleFor, len(b.Players))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func (b *Bench) play() *Result {
	s := b.scenario
	r := &Result{Scenario: s, Rule: s.Expect.Rule}
	drift := NewDrift()
	b.stalls = watchStalls()
	b.start, b.begun = time.Now(), b.watch.now()
	for _, p := range b.Players {
		b.must(p.Begin())
	}
	if s.Disturb != nil {
		s.Disturb(b)
	}
	b.Until(1)
	for _, p := range b.Players {
		b.must(p.End())
	}
	r.Length = time.Since(b.start)
	b.over = b.watch.now()
	b.quiet = b.silences()
	b.stalls.end()
	r.Stalled = b.stalls.since(b.begun)
	r.Slack = float64(drift.Gained())*float64(s.Limit.Tokens)/float64(s.Limit.Per) + 0.01
	b.leave(r)
	b.measure(r)
	r.Bound = s.Expect.Bound + s.Expect.PerSecond*b.Length.Seconds() + b.shares(r)
	r.judge()
	r.account(len(b.killed))
	if s.Check != nil {
		if err := s.Check(b, r); err != nil {
			if errors.Is(err, errSlow) {
				r.Slow = append(r.Slow, err)
			} else {
				r.Faults = append(r.Faults, err)
			}
		}
	}
	for _, p := range b.Players {
		if log, err := p.Log(); err == nil {
			log.Close()
		}
	}
	return r
}

// leave closes all nodes.
func (b *Bench) leave(r *Result) {
	for i, p := range b.Players {
		r.Links = r.Links.plus(b.Links[i].Counts()).less(b.joined[i])
		b.Links[i].Set(Faults{}) // how well a node leaves is another matter
		b.Links[i].Heal()
		if left := b.left[i]; left != nil {
			r.Reports = append(r.Reports, *left)
			continue
		}
		if b.killed[i] {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), answerWithin/2)
		report, err := p.Close(ctx)
		cancel()
		if err == nil && report.Failed != "" {
			err = fmt.Errorf("%s", report.Failed)
		}
		if err != nil {
			r.fail("node %d does not close: %w", i, err)
		}
		r.Reports = append(r.Reports, report)
	}
}

// measure reads the logs and checks each key's history.
func (b *Bench) measure(r *Result) {
	s := b.scenario
	keys := max(1, s.Load.Keys)
	events := make([][]admitted.Event, keys)
	var logs []*Log
	for i, p := range b.Players {
		log, err := p.Log()
		b.must(err)
		if n := log.Overflow(); n > 0 {
			r.fail("node %d admitted %d more than its log holds", i, n)
		}
		for _, e := range log.Events() {
			events[e.Key] = append(events[e.Key], e)
		}
		r.Denied += log.Denied()
		logs = append(logs, log)
	}
	r.Flow = make([]int64, 10)
	for _, history := range events {
		for _, e := range history {
			tenth := 10 * (e.After - b.begun) / max(1, b.over-b.begun)
			r.Flow[max(0, min(tenth, 9))] += int64(e.N)
		}
		o := admitted.Check(history, s.Limit)
		r.Admitted += o.Admitted
		if o.High >= r.Worst.High {
			r.Worst = o
		}
	}
	r.Budget = float64(keys) * s.Limit.Budget(max(0, r.Length-r.Stalled))
	r.P50, r.P999 = Quantile(0.5, logs...), Quantile(0.999, logs...)
}

// Leave ends a node's load and closes the node, while the others go on.
func (b *Bench) Leave(i int) {
	p := b.Players[i]
	b.must(p.End())
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin/2)
	defer cancel()
	report, err := p.Close(ctx)
	b.must(err)
	b.left[i] = &report
}

// Kill kills a node's process.
func (b *Bench) Kill(i int) {
	b.Process(i).Kill()
	b.killed[i] = true
}

// Until waits until a part of the length has passed, 0 to 1.
func (b *Bench) Until(part float64) {
	time.Sleep(time.Until(b.start.Add(time.Duration(part * float64(b.Length)))))
}

// Process returns a player that has its own process.
func (b *Bench) Process(i int) *Process { return b.Players[i].(*Process) }

// EachLink does something to every link.
func (b *Bench) EachLink(do func(l *Link)) {
	for _, l := range b.Links {
		do(l)
	}
}

func (b *Bench) must(err error) {
	if err != nil {
		b.T.Helper()
		b.T.Fatalf("%s: %v", b.scenario.Name, err)
	}
}

func (c Counts) less(d Counts) Counts {
	return Counts{
		Connections: c.Connections - d.Connections, Calls: c.Calls - d.Calls,
		LostRequests: c.LostRequests - d.LostRequests, LostReplies: c.LostReplies - d.LostReplies, Resets: c.Resets - d.Resets,
	}
}

func (c Counts) plus(d Counts) Counts {
	return Counts{
		Connections: c.Connections + d.Connections, Calls: c.Calls + d.Calls,
		LostRequests: c.LostRequests + d.LostRequests, LostReplies: c.LostReplies + d.LostReplies, Resets: c.Resets + d.Resets,
	}
}
