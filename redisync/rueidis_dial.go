package redisync

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

const (
	dialTimeout  = 2 * time.Second       // to connect and be let in
	keepFirst    = 10 * time.Millisecond // bound of the first wait before another try
	keepMost     = 2 * time.Second       // and of the longest
	keepPause    = time.Millisecond      // before the first: what has not seen it begin has passed by then
	shakeOffEach = time.Second           // a server that became a replica is left at most so often
)

// notNow marks the context of a call that must not wait for a connection.
type notNow struct{}

// dialer makes the connections of one client, and knows those that are open.
//
// Where keeps is set, no call of a caller makes one: its deadline, of a few
// milliseconds, is not enough for a handshake. Instead the call fails at once, and
// one goroutine for each address connects, with pauses that grow, until it did.
type dialer struct {
	address *address
	net     net.Dialer
	keeps   bool

	mu     sync.Mutex
	client rueidis.Client // set after the first connection
	links  map[*link]struct{}
	busy   map[string]bool // addresses that a goroutine is connecting to
	why    map[string]error
	left   time.Time // when links were last closed by leave
	closed chan struct{}
	dials  uint64

	connecting atomic.Int64 // goroutines of keep
}

func newDialer(a *address, keeps bool) *dialer {
	return &dialer{
		address: a, keeps: keeps, net: net.Dialer{Timeout: dialTimeout},
		links: map[*link]struct{}{}, busy: map[string]bool{}, why: map[string]error{},
		closed: make(chan struct{}),
	}
}

// link is an open connection.
type link struct {
	net.Conn
	dialer *dialer
	addr   string
	once   sync.Once
}

// Close closes the connection, and has another one made where that is this dialer's way.
func (l *link) Close() error {
	l.once.Do(func() {
		d := l.dialer
		d.mu.Lock()
		delete(d.links, l)
		d.mu.Unlock()
		if d.keeps {
			d.keep(l.addr)
		}
	})
	return l.Conn.Close()
}

// handshakeError is a TLS handshake that failed.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "TLS: " + e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// connect opens a connection without TLS.
func (d *dialer) connect(ctx context.Context, addr string) (net.Conn, error) {
	return d.net.DialContext(ctx, d.address.network, addr)
}

// open opens a connection, with TLS where the URL says so.
func (d *dialer) open(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := d.connect(ctx, addr)
	if err != nil || d.address.tls == nil {
		return conn, err
	}
	secure := tls.Client(conn, d.address.tlsFor(addr))
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, &handshakeError{err}
	}
	return secure, nil
}

// dial is the client's way to a connection.
func (d *dialer) dial(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
	if d.keeps && ctx.Value(notNow{}) != nil {
		d.keep(addr)
		d.mu.Lock()
		defer d.mu.Unlock()
		return nil, &downError{addr, d.why[addr]}
	}
	conn, err := d.open(ctx, addr)
	if err != nil {
		return nil, &downError{addr, err}
	}
	l := &link{Conn: conn, dialer: d, addr: addr}
	d.mu.Lock()
	d.links[l] = struct{}{}
	d.dials++
	d.mu.Unlock()
	return l, nil
}

// keep has a goroutine connect to addr, unless one does.
func (d *dialer) keep(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.client == nil || d.busy[addr] || d.isClosed() {
		return
	}
	d.busy[addr] = true
	d.connecting.Add(1)
	go func() {
		d.reconnect(d.client, addr)
		d.mu.Lock()
		delete(d.busy, addr)
		delete(d.why, addr)
		d.mu.Unlock()
		d.connecting.Add(-1)
	}()
}

// reconnect returns when the client is connected to addr, or needs it no more.
func (d *dialer) reconnect(c rueidis.Client, addr string) {
	pause := keepPause
	for tries := 0; ; tries++ {
		select {
		case <-d.closed:
			return
		case <-time.After(pause):
		}
		node, ok := c.Nodes()[addr]
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
		err := node.Do(ctx, node.B().Arbitrary("PING").Build()).NonRedisError()
		cancel()
		if err == nil {
			return
		}
		d.mu.Lock()
		d.why[addr] = err
		d.mu.Unlock()
		pause = rand.N(min(keepMost, keepFirst<<min(tries, 8))) + 1
	}
}

// warm connects to every master of a cluster, so that no first call finds it missing.
// One that is away is connected to when it is back and called.
func (d *dialer) warm(ctx context.Context, servers []server) {
	nodes := d.client.Nodes()
	var wg sync.WaitGroup
	for _, s := range servers {
		for _, o := range s.owners {
			node, ok := nodes[o.addr]
			if !ok {
				continue
			}
			delete(nodes, o.addr)
			wg.Go(func() { node.Do(ctx, node.B().Arbitrary("PING").Build()) })
		}
	}
	wg.Wait()
}

// leave closes every connection, so that the next call looks up the address again: a
// name may by then stand for the new master.
func (d *dialer) leave() {
	d.mu.Lock()
	now := time.Now()
	if now.Sub(d.left) < shakeOffEach {
		d.mu.Unlock()
		return
	}
	d.left = now
	links := make([]*link, 0, len(d.links))
	for l := range d.links {
		links = append(links, l)
	}
	d.mu.Unlock()
	for _, l := range links {
		l.Close()
	}
}

func (d *dialer) isClosed() bool {
	select {
	case <-d.closed:
		return true
	default:
		return false
	}
}
