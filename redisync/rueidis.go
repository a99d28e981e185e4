package redisync

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

const (
	// pingEvery is how long a connection is silent before it is asked for a sign of
	// life, and answerTimeout how long that may take until it is given up.
	pingEvery     = time.Second
	answerTimeout = time.Second
	// buffers of a connection, either way: a batch of 16 calls is 3 KB.
	bufferSize = 32 << 10
	// redirects that one call follows in a cluster.
	mostRedirects = 4
	// sentinelEvery is how often the sentinels are asked for the master, beyond their
	// own word, which can be lost.
	sentinelEvery = 2 * time.Second
	// mostWaiting bounds the calls, or batches of them, that wait in one client, those
	// given up by their callers included: fewer than the 1,024 that fit a connection's
	// queue, which does not look at deadlines once it is full.
	mostWaiting = 512
)

// Client is the Transport to real servers. Create one with [Dial].
type Client struct {
	bulk, strict line
	lanes        []uint8 // of each slot of a cluster
	count        int
	closed       atomic.Bool
	noScript     atomic.Uint64
	direct       atomic.Int64 // strict calls begun since one was answered
}

// line is one of the two ways to Redis: each has connections of its own.
type line struct {
	client  rueidis.Client
	dialer  *dialer
	waiting chan struct{}
}

// TransportStats are counts since the start.
type TransportStats struct {
	Dials    uint64 // connections made
	NoScript uint64 // calls sent a second time with the script, which Redis did not know
}

// Dial connects to the Redis of a URL:
//
//	redis://[[user]:password@]host[:port][,host[:port]...][/db][?option&...]
//	rediss://...                                     over TLS; valkey:// and valkeys:// are these two
//	unix://[[user]:password@]/path[?option&...]
//
// Several hosts are nodes of one cluster, or with the option master_set, the name of a
// master, sentinels. Further options: db, addr, sentinel_user, sentinel_password; with
// TLS ca, cert and key (files), server_name and skip_verify=true.
//
// It looks at the servers first. The error says in one line what to do: about a wrong
// password or port, TLS on one side only, a certificate, a server that is no Redis, one
// older than 6.0, a replica. It never contains the password. Dial returns by ctx's
// deadline, or after some 10 s.
func Dial(ctx context.Context, url string) (*Client, error) {
	a, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	servers, err := a.survey(ctx, newDialer(a, false))
	if err != nil {
		return nil, err
	}
	bulk, err := connect(ctx, a, servers, false)
	if err != nil {
		return nil, err
	}
	strict, err := connect(ctx, a, servers, true)
	if err != nil {
		bulk.close()
		return nil, err
	}
	c := &Client{bulk: bulk, strict: strict}
	c.lanes, c.count = lanesOf(servers)
	return c, nil
}

// CheckURL returns what is wrong with the URL of a server, as [Dial] would. It asks no
// server, and reads the files of certificates that the URL names.
func CheckURL(url string) error {
	_, err := parseURL(url)
	return err
}

// connect makes one line.
func connect(ctx context.Context, a *address, servers []server, keeps bool) (line, error) {
	d := newDialer(a, keeps)
	opt := rueidis.ClientOption{
		InitAddress: a.addrs, Username: a.user, Password: a.password, SelectDB: a.db, ClientName: "tickgate",
		TLSConfig: a.tls, DialCtxFn: d.dial,
		// Its Timeout bounds the greeting, its KeepAlive is the gap between pings.
		Dialer:           d.net,
		ConnWriteTimeout: answerTimeout,
		// A call whose fate is unknown must not be sent again.
		DisableRetry: true,
		DisableCache: true,
		// Else the goroutine of a call itself reads its reply as long as it is alone,
		// and closes the connection if the reply does not come by the deadline: the
		// strict line's way, which is faster, and has the batches' line beside it.
		AlwaysPipelining:    !keeps,
		PipelineMultiplex:   -1,
		ReadBufferEachConn:  bufferSize,
		WriteBufferEachConn: bufferSize,
		ClusterOption:       rueidis.ClusterOption{MaxMovedRedirections: mostRedirects},
	}
	opt.Dialer.KeepAlive = pingEvery
	switch {
	case a.masterSet != "":
		opt.Sentinel = rueidis.SentinelOption{
			Dialer: opt.Dialer, TLSConfig: a.tls, MasterSet: a.masterSet,
			Username: a.sentinelUser, Password: a.sentinelPassword, TopologyRefreshInterval: sentinelEvery,
		}
	case servers[0].mode != "cluster":
		opt.ForceSingleClient = true
	}
	type made struct {
		client rueidis.Client
		err    error
	}
	done := make(chan made, 1)
	go func() {
		c, err := rueidis.NewClient(opt)
		done <- made{c, err}
	}()
	limit, cancel := context.WithTimeout(ctx, 2*probeTimeout)
	defer cancel()
	select {
	case m := <-done:
		if m.err != nil {
			if m.client != nil {
				m.client.Close()
			}
			return line{}, classify(m.err)
		}
		d.mu.Lock()
		d.client = m.client
		d.mu.Unlock()
		if keeps {
			d.warm(limit, servers)
		}
		return line{client: m.client, dialer: d, waiting: make(chan struct{}, mostWaiting)}, nil
	case <-limit.Done():
		go func() {
			if m := <-done; m.client != nil {
				m.client.Close()
			}
		}()
		return line{}, unsent(limit)
	}
}

func (l line) close() {
	close(l.dialer.closed)
	l.client.Close()
}

// Sync implements Transport.
func (c *Client) Sync(ctx context.Context, calls []Call, replies []Reply) {
	fill := func(err error) {
		for i := range calls {
			replies[i] = Reply{Err: err}
		}
	}
	if len(calls) == 0 {
		return
	}
	own := append([]Call(nil), calls...) // the caller has its slice back when this returns
	answers, err := c.run(ctx, c.bulk, own)
	if err != nil {
		fill(err)
		return
	}
	copy(replies, answers)
}

// Call implements Transport. A call is made in the caller's own goroutine, which at a
// single caller saves half of the time. There it could get stuck in two places, the
// wait for a connection that is being made, and a queue full of calls that nobody
// answers; then, and while it is not connected, the call goes with the batches.
func (c *Client) Call(ctx context.Context, call Call) Reply {
	calls, replies := [1]Call{call}, [1]Reply{}
	switch {
	case c.closed.Load():
		return Reply{Err: &downError{why: errClosed}}
	case ctx.Err() != nil:
		return Reply{Err: unsent(ctx)}
	}
	if c.strict.dialer.connecting.Load() == 0 && c.direct.Add(1) <= mostWaiting {
		c.exchange(dialless{ctx}, c.strict, calls[:], replies[:])
		err := replies[0].Err
		if !errors.Is(err, ErrUnknown) {
			c.direct.Store(0) // what was answered moved the queue on
		}
		if !errors.Is(err, ErrDown) {
			return replies[0]
		}
	}
	answers, err := c.run(ctx, c.bulk, calls[:])
	if err != nil {
		return Reply{Err: err}
	}
	if !errors.Is(answers[0].Err, ErrUnknown) {
		c.direct.Store(0)
	}
	return answers[0]
}

// dialless is the context of a call that makes no connection.
type dialless struct{ context.Context }

func (d dialless) Value(key any) any {
	if key == (notNow{}) {
		return true
	}
	return d.Context.Value(key)
}

// run makes calls on a line, and waits by the context's deadline. The client below
// does not always: while it connects, or its queue is full, so it has a goroutine.
func (c *Client) run(ctx context.Context, l line, calls []Call) ([]Reply, error) {
	switch {
	case c.closed.Load():
		return nil, &downError{why: errClosed}
	case ctx.Err() != nil:
		return nil, unsent(ctx)
	}
	select {
	case l.waiting <- struct{}{}:
	default:
		return nil, &downError{why: errFull}
	}
	done := make(chan []Reply, 1)
	go func() {
		replies := make([]Reply, len(calls))
		c.exchange(ctx, l, calls, replies)
		<-l.waiting
		done <- replies
	}()
	select {
	case replies := <-done:
		return replies, nil
	case <-ctx.Done():
		select {
		case replies := <-done:
			return replies, nil
		default:
			return nil, classify(ctx.Err())
		}
	}
}

var (
	errClosed = errors.New("the transport is closed")
	errFull   = errors.New("too many calls wait for an answer")
)

// exchange sends calls in one pipeline, and those that found no script once more: the
// first of them with the script, the rest after it. Only in a cluster, where they may go
// to several servers, this is not enough, and is repeated.
func (c *Client) exchange(ctx context.Context, l line, calls []Call, replies []Reply) {
	pending := make([]int, len(calls))
	for i := range pending {
		pending[i] = i
	}
	readOnly := false
	for round := 0; len(pending) > 0; round++ {
		// A new slice each time: the client may hold on to one that was given up.
		commands := make([]rueidis.Completed, len(pending))
		for j, i := range pending {
			commands[j] = command(l.client.B(), calls[i], round > 0 && j == 0)
		}
		again := pending[:0]
		for j, r := range l.client.DoMulti(ctx, commands...) {
			i := pending[j]
			err := r.Error()
			if said, ok := rueidis.IsRedisErr(err); ok && said.IsNoScript() {
				again = append(again, i)
				c.noScript.Add(1)
				continue
			}
			replies[i] = reply(r, err)
			readOnly = readOnly || errors.Is(replies[i].Err, ErrReadOnly)
		}
		pending = again
	}
	if readOnly {
		l.dialer.leave()
	}
}

// command writes a call as a command.
func command(b rueidis.Builder, call Call, withScript bool) rueidis.Completed {
	name, text := "EVALSHA", syncScript.sha
	if withScript {
		name, text = "EVAL", syncScript.source
	}
	if call.Mark != "" {
		return b.Arbitrary(name, text, "2").Keys(call.Key, call.Mark).Args(call.Args...).Build()
	}
	return b.Arbitrary(name, text, "1").Keys(call.Key).Args(call.Args...).Build()
}

func reply(r rueidis.RedisResult, err error) Reply {
	if err != nil {
		return Reply{Err: classify(err)}
	}
	values, err := r.AsIntSlice()
	if err != nil {
		return Reply{Err: errors.Join(ErrRefused, err)}
	}
	return Reply{Values: values}
}

// Close implements Transport. It returns when the connections are closed, within about
// a second.
func (c *Client) Close() {
	if c.closed.Swap(true) {
		return
	}
	c.bulk.close()
	c.strict.close()
}

// Stats returns counts of the connections.
func (c *Client) Stats() TransportStats {
	s := TransportStats{NoScript: c.noScript.Load()}
	for _, d := range []*dialer{c.bulk.dialer, c.strict.dialer} {
		d.mu.Lock()
		s.Dials += d.dials
		d.mu.Unlock()
	}
	return s
}
