//go:build linux

package faults

import (
	"bufio"
	"net"
	"sync"
	"time"
)

// fate is what becomes of a request.
type fate uint8

const (
	kept   fate = iota
	budget      // kept, and the call of a budget
	requestLost
	replyLost
	unanswered // kept, and its answer, if any, is a push
	names      // kept, and its answer names servers
	last       // no request: the connection is lost once all replies before are written
)

// queued is how many messages may be on their way in one direction before the sender
// is slowed down, as by a full socket buffer.
const queued = 4096

// message is one on its way.
type message struct {
	data []byte // empty: the end of the connection
	due  time.Time
	fate fate // of a request
}

// conn is one connection through a link: a reader and a writer for each direction.
// To lose a message is to lose all that come after it on the same connection, since
// nothing else in the protocol tells which reply belongs to which request.
type conn struct {
	link   *Link
	client *net.TCPConn
	target string
	gone   chan struct{} // closed at the end

	mu     sync.Mutex
	server *net.TCPConn
	ended  bool
	fates  []fate // of the requests that Redis has not answered, in order
}

// run serves the connection until it ends.
func (c *conn) run() {
	defer c.end()
	if !c.connect() {
		return
	}
	from := bufio.NewReaderSize(c.client, 64<<10)
	up, down := make(chan message, queued), make(chan message, queued)
	var wg sync.WaitGroup
	wg.Go(func() { c.readRequests(from, up) })
	wg.Go(func() { c.writeRequests(up) })
	wg.Go(func() { c.readReplies(down) })
	wg.Go(func() { c.writeReplies(down) })
	wg.Wait()
}

// connect goes to the server, once requests pass; false if it cannot be reached.
func (c *conn) connect() bool {
	select {
	case <-c.link.passing(true):
	case <-c.gone:
		return false
	}
	server, err := net.DialTimeout("tcp", c.target, 5*time.Second)
	return err == nil && c.reached(server.(*net.TCPConn))
}

// reached notes the server's end, unless the connection has ended meanwhile.
func (c *conn) reached(server *net.TCPConn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		server.Close()
		return false
	}
	c.server = server
	return true
}

// end closes both sides.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	close(c.gone)
	c.client.Close()
	if c.server != nil {
		c.server.Close()
	}
	c.link.mu.Lock()
	delete(c.link.conns, c)
	c.link.mu.Unlock()
}

// reset ends the connection the way that loses what the client has not read.
func (c *conn) reset() {
	c.client.SetLinger(0)
	c.link.mu.Lock()
	c.link.counts.Resets++
	c.link.mu.Unlock()
	c.end()
}

// lose is what the client sees of a loss: nothing, if it is silent, until it gives
// up.
func (c *conn) lose() {
	if !c.link.silent() {
		c.reset()
	}
}

func (c *conn) readRequests(from *bufio.Reader, to chan<- message) {
	defer close(to)
	var due time.Time
	for {
		data, err := readMessage(from, nil)
		if err != nil {
			return // what came before is still delivered: a client may give up before its request arrives
		}
		due = later(due, c.link.delay())
		if !c.put(to, message{data: data, due: due, fate: c.link.judge(data)}) {
			return
		}
	}
}

func (c *conn) writeRequests(from <-chan message) {
	lost := false
	for m := range from {
		switch {
		case lost || !c.wait(m.due, true):
			continue
		case m.fate == requestLost:
			lost = true
			if !c.expect(last) {
				c.lose()
			}
			continue
		case m.fate != unanswered:
			c.expect(m.fate)
		}
		if _, err := c.server.Write(m.data); err != nil {
			c.end()
		}
	}
	c.server.CloseWrite() // the client is done, or gave up
}

// expect appends a fate to those of the replies to come. It is not for last if there
// are none: false.
func (c *conn) expect(f fate) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f == last && len(c.fates) == 0 {
		return false
	}
	c.fates = append(c.fates, f)
	return true
}

// next is the fate of the next reply.
func (c *conn) next() fate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.fates) == 0 {
		return kept
	}
	return c.fates[0]
}

// answered takes off the fate of a reply that was written, and tells whether it was
// the last. Only now: a request that is lost meanwhile must find it outstanding.
func (c *conn) answered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.fates) > 0 {
		c.fates = c.fates[1:]
	}
	return len(c.fates) > 0 && c.fates[0] == last
}

func (c *conn) readReplies(to chan<- message) {
	defer close(to)
	from := bufio.NewReaderSize(c.server, 64<<10)
	var due time.Time
	for {
		data, err := readMessage(from, nil)
		if err == nil {
			due = later(due, c.link.delay())
		}
		if !c.put(to, message{data: data, due: due}) || err != nil {
			return
		}
	}
}

func (c *conn) writeReplies(from <-chan message) {
	over := false // nothing is written any more; the requests are still delivered
	write := func(m message) {
		if _, err := c.client.Write(m.data); err != nil {
			over = true
			c.client.CloseRead()
		}
	}
	for m := range from {
		switch {
		case over || !c.wait(m.due, false) || len(m.data) == 0:
		case isPush(m.data):
			write(m)
		case c.next() == replyLost:
			over = true
			c.lose()
		default:
			f := c.next()
			if f == names {
				m.data = c.link.renamed(m.data)
			} else {
				m.data = c.link.redirected(m.data)
			}
			write(m)
			if f == budget && m.data[0] == '*' { // not an error
				c.link.heard()
			}
			if c.answered() {
				over = true
				c.lose()
			}
		}
	}
	c.end() // Redis closed the connection, or the client and then Redis
}

// put queues a message; false at the end of the connection.
func (c *conn) put(to chan<- message, m message) bool {
	select {
	case to <- m:
		return true
	case <-c.gone:
		return false
	}
}

// wait waits until a message is due and its direction not held; false at the end of
// the connection.
func (c *conn) wait(due time.Time, up bool) bool {
	if d := time.Until(due); d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-c.gone:
			return false
		}
	}
	select {
	case <-c.link.passing(up):
		return true
	case <-c.gone:
		return false
	}
}

// later is when a message arrives that takes d from now and may not overtake the one
// before it.
func later(before time.Time, d time.Duration) time.Time {
	if at := time.Now().Add(d); at.After(before) {
		return at
	}
	return before
}
