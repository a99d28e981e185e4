//go:build linux

package faults

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"
)

// Faults are what a [Link] does to the messages of one node. The zero value does
// nothing.
type Faults struct {
	// LoseRequest is the probability, 0 to 1, that a call is lost before Redis has
	// seen it.
	LoseRequest float64

	// LoseReply is the probability, 0 to 1, that the reply is lost of a call that
	// Redis has executed.
	LoseReply float64

	// Silent says how the client learns of a loss. False: its connection is reset,
	// once it has the replies before. True: the connection says nothing more, and
	// only a deadline ends it.
	Silent bool

	// Delay is added to every message in either direction, and Jitter up to as much
	// again, evenly. Messages keep their order.
	Delay, Jitter time.Duration
}

// Counts are what went through a [Link] so far.
type Counts struct {
	Connections  uint64
	Calls        uint64 // EVAL and EVALSHA: what may be lost
	LostRequests uint64
	LostReplies  uint64
	Resets       uint64 // connections that were reset, by a loss or by Reset
}

// Link is the way of one node to its Redis servers: proxies on the loopback, one for
// each server, that take requests and replies apart. A cluster names its nodes by
// their own addresses; in its answers the link puts the proxies' in their place, so
// that a client never comes to know another way. All methods may be called by any
// goroutine.
type Link struct {
	doors []door

	mu       sync.Mutex
	faults   Faults
	rnd      *rand.Rand
	requests int // the next calls whose requests are lost
	replies  int
	counts   Counts
	conns    map[*conn]struct{}
	heardAt  int64     // when the last call of a budget was answered, by watch
	silences []Silence // that are over
	watch    stopwatch
	up, down chan struct{} // closed while messages pass
	closed   bool
	wg       sync.WaitGroup
}

// door is the proxy of one server.
type door struct {
	listener net.Listener
	target   string // host:port
}

func (d door) addr() string { return d.listener.Addr().String() }

// NewLink listens on free ports of the loopback, one for each target, host:port of a
// server. The same seed loses the same calls, in the order in which they come.
func NewLink(seed uint64, targets ...string) (*Link, error) {
	l := &Link{
		rnd:   rand.New(rand.NewPCG(seed, seed)),
		conns: map[*conn]struct{}{}, watch: newStopwatch(),
		up: make(chan struct{}), down: make(chan struct{}),
	}
	close(l.up)
	close(l.down)
	for _, target := range targets {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			l.Close()
			return nil, fmt.Errorf("faults: no link: %w", err)
		}
		l.doors = append(l.doors, door{listener, target})
	}
	for _, d := range l.doors {
		l.wg.Go(func() { l.accept(d) })
	}
	return l, nil
}

// Addrs returns the addresses of the link's proxies, in the order of the targets.
func (l *Link) Addrs() []string {
	addrs := make([]string, len(l.doors))
	for i, d := range l.doors {
		addrs[i] = d.addr()
	}
	return addrs
}

// Set replaces the faults. What is on its way keeps those it met.
func (l *Link) Set(f Faults) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = f
}

// LoseNext loses the requests of the next calls, then the replies of as many as
// said, before chance has its say.
func (l *Link) LoseNext(requests, replies int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests, l.replies = requests, replies
}

// Hold is a partition: nothing passes any more in the given directions, and nothing
// is said about it. New connections are accepted, and go nowhere if up is held. What is
// held is delivered by Heal, however late; Reset before Heal loses it.
func (l *Link) Hold(up, down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up, l.down = held(l.up, up), held(l.down, down)
}

// Heal ends Hold.
func (l *Link) Heal() { l.Hold(false, false) }

func held(passing chan struct{}, hold bool) chan struct{} {
	select {
	case <-passing:
		if hold {
			return make(chan struct{})
		}
	default:
		if !hold {
			close(passing)
		}
	}
	return passing
}

// Reset resets every connection. New ones are welcome.
func (l *Link) Reset() {
	for _, c := range l.all() {
		c.reset()
	}
}

func (l *Link) all() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*conn, 0, len(l.conns))
	for c := range l.conns {
		all = append(all, c)
	}
	return all
}

// Counts returns what went through so far.
func (l *Link) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// Close ends the link and its connections.
func (l *Link) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	for _, d := range l.doors {
		d.listener.Close()
	}
	for _, c := range l.all() {
		c.end()
	}
	l.wg.Wait()
}

// passing returns a channel that is closed while a direction is not held.
func (l *Link) passing(up bool) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if up {
		return l.up
	}
	return l.down
}

// judge says what becomes of a request, and how long each of its ways is.
func (l *Link) judge(request []byte) fate {
	word := command(request)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case strings.HasSuffix(word, "SUBSCRIBE"):
		return unanswered
	case word == "CLUSTER":
		return names
	case word != "EVALSHA" && word != "EVAL":
		return kept
	}
	l.counts.Calls++
	chance, pass := l.rnd.Float64(), kept
	if bytes.Contains(request, []byte(Endpoint)) {
		pass = budget
	}
	switch {
	case l.requests > 0:
		l.requests--
	case l.replies > 0:
		l.replies--
		l.counts.LostReplies++
		return replyLost
	case chance < l.faults.LoseRequest:
	case chance < l.faults.LoseRequest+l.faults.LoseReply:
		l.counts.LostReplies++
		return replyLost
	default:
		return pass
	}
	l.counts.LostRequests++
	return requestLost
}

// Silence is a time without an answer to a call of a budget, in ns of the machine's
// monotonic clock.
type Silence struct{ From, To int64 }

// shortest silence that is noted.
const shortest = 20 * time.Millisecond

// heard notes that a call of a budget was answered.
func (l *Link) heard() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.watch.now()
	if l.heardAt != 0 && now-l.heardAt > int64(shortest) {
		l.silences = append(l.silences, Silence{l.heardAt, now})
	}
	l.heardAt = now
}

// Silences returns those so far, the one that lasts included.
func (l *Link) Silences() []Silence {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append(l.silences[:len(l.silences):len(l.silences)], Silence{l.heardAt, l.watch.now()})
}

// delay draws how long a message takes.
func (l *Link) delay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.faults.Delay
	if l.faults.Jitter > 0 {
		d += time.Duration(l.rnd.Int64N(int64(l.faults.Jitter)))
	}
	return d
}

func (l *Link) silent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.faults.Silent
}

func (l *Link) accept(d door) {
	for {
		client, err := d.listener.Accept()
		if err != nil {
			return
		}
		c := &conn{link: l, client: client.(*net.TCPConn), target: d.target, gone: make(chan struct{})}
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			client.Close()
			return
		}
		l.conns[c] = struct{}{}
		l.counts.Connections++
		l.wg.Go(c.run)
		l.mu.Unlock()
	}
}

// renamed puts the addresses of the link in the place of the servers' in the answer
// to a CLUSTER command.
func (l *Link) renamed(reply []byte) []byte {
	for _, d := range l.doors {
		host, port, _ := net.SplitHostPort(d.target)
		_, own, _ := net.SplitHostPort(d.addr())
		// CLUSTER SLOTS, and CLUSTER SHARDS.
		for _, before := range []string{host + "\r\n:", "port\r\n:"} {
			reply = bytes.ReplaceAll(reply, []byte(before+port+"\r\n"), []byte(before+own+"\r\n"))
		}
	}
	return reply
}

// redirected does so for MOVED and ASK.
func (l *Link) redirected(reply []byte) []byte {
	if !bytes.HasPrefix(reply, []byte("-MOVED ")) && !bytes.HasPrefix(reply, []byte("-ASK ")) {
		return reply
	}
	for _, d := range l.doors {
		if to, ok := bytes.CutSuffix(reply, []byte(" "+d.target+"\r\n")); ok {
			return fmt.Appendf(nil, "%s %s\r\n", to, d.addr())
		}
	}
	return reply
}
