package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// traffic is what callers ask of the service growth: one turn after the other, each of
// the next caller. Of ten callers nine ask for query, once in a turn. The tenth sends
// a job, and at once a retry of it.
type traffic struct {
	callers int
	conns   []*conn
	turns   int // had so far
}

// perTenTurns is the number of requests in ten turns.
const perTenTurns = 11

// tally is what was answered.
type tally struct {
	passed, denied    atomic.Int64 // of query
	fresh, repeated   atomic.Int64 // of ingest
	requests, strange atomic.Int64 // all, and those with any other answer
}

func newTraffic(url string, callers, clients int) (*traffic, error) {
	t := &traffic{callers: callers}
	for range clients {
		c, err := dial(strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.close()
			return nil, err
		}
		t.conns = append(t.conns, c)
	}
	return t, nil
}

func (t *traffic) close() {
	for _, c := range t.conns {
		_ = c.Close()
	}
}

// state asks for the state of the server while all connections are open and idle.
func (t *traffic) state() (state, error) { return t.conns[0].state() }

// run has about so many requests made, over all connections at once, and checks that
// each got the answer that it had to get, by the quota of its caller.
func (t *traffic) run(ctx context.Context, requests int) error {
	turns := max(1, requests*10/perTenTurns)
	first, end := t.turns, t.turns+turns
	t.turns = end

	var got tally
	var next atomic.Int64
	next.Store(int64(first))
	faults := make([]error, len(t.conns))
	var clients sync.WaitGroup
	for i, c := range t.conns {
		clients.Go(func() {
			for ctx.Err() == nil {
				turn := int(next.Add(1)) - 1
				if turn >= end {
					return
				}
				if err := t.turn(c, turn, &got); err != nil {
					faults[i] = err
					return
				}
			}
		})
	}
	clients.Wait()
	if err := errors.Join(append(faults, ctx.Err())...); err != nil {
		return err
	}
	return t.compare(first, end, &got)
}

func (t *traffic) turn(c *conn, turn int, got *tally) error {
	who := turn % t.callers
	if !sender(who) {
		status, err := c.query(caller(who))
		got.requests.Add(1)
		got.count(status, http.StatusTooManyRequests, &got.passed, &got.denied)
		return err
	}
	for range 2 {
		status, replayed, err := c.ingest(caller(who), strconv.Itoa(turn))
		if err != nil {
			return err
		}
		got.requests.Add(1)
		if replayed {
			got.count(status, 0, &got.repeated, nil)
		} else {
			got.count(status, 0, &got.fresh, nil)
		}
	}
	return nil
}

func (g *tally) count(status, no int, good, bad *atomic.Int64) {
	switch status {
	case http.StatusOK:
		good.Add(1)
	case no:
		bad.Add(1)
	default:
		g.strange.Add(1)
	}
}

// sender reports whether a caller sends jobs.
func sender(who int) bool { return who%10 == 9 }

// compare holds the answers to turns first to end-1 against what they had to be: each
// caller gets quota answers in its life, and each job is done once.
func (t *traffic) compare(first, end int, got *tally) error {
	var passed, denied, jobs int64
	for turn := first; turn < end; turn++ {
		switch {
		case sender(turn % t.callers):
			jobs++
		case turn/t.callers < quota:
			passed++
		default:
			denied++
		}
	}
	var faults []error
	same := func(what string, have, want int64) {
		if have != want {
			faults = append(faults, fmt.Errorf("%d %s, not %d", have, what, want))
		}
	}
	same("queries passed", got.passed.Load(), passed)
	same("queries denied", got.denied.Load(), denied)
	same("jobs done", got.fresh.Load(), jobs)
	same("jobs answered again", got.repeated.Load(), jobs)
	same("answers with another status", got.strange.Load(), 0)
	return errors.Join(faults...)
}
