package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// answerTimeout is how long an answer may take before the run fails.
const answerTimeout = 30 * time.Second

// conn is one connection that is kept alive. It is written by hand, as a client of
// net/http would take more of the processors than the server. For one goroutine.
type conn struct {
	net.Conn
	in  *bufio.Reader
	out []byte
}

func dial(address string) (*conn, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, in: bufio.NewReader(c)}, nil
}

// query asks as a caller.
func (c *conn) query(caller string) (status int, err error) {
	c.begin(http.MethodGet, queryPath, caller)
	c.out = append(c.out, "\r\n"...)
	status, _, err = c.answer(nil)
	return status, err
}

// ingest sends a job under an idempotency key, and tells whether the answer was that
// of an earlier request.
func (c *conn) ingest(caller, id string) (status int, replayed bool, err error) {
	const body = `{"content":"remember this"}`
	c.begin(http.MethodPost, ingestPath, caller)
	c.out = append(c.out, "Content-Type: application/json\r\nIdempotency-Key: \""...)
	c.out = append(c.out, id...)
	c.out = append(c.out, "\"\r\nContent-Length: "...)
	c.out = strconv.AppendInt(c.out, int64(len(body)), 10)
	c.out = append(c.out, "\r\n\r\n"+body...)
	status, h, err := c.answer(nil)
	return status, h.Get("Idempotent-Replayed") == "true", err
}

// state asks for the state of the server, over this connection so that none is added
// by it.
func (c *conn) state() (state, error) {
	var s state
	c.begin(http.MethodGet, statePath, "")
	c.out = append(c.out, "\r\n"...)
	status, _, err := c.answer(&s)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the server tells no state: status %d", status)
	}
	return s, err
}

func (c *conn) begin(method, path, caller string) {
	c.out = append(c.out[:0], method...)
	c.out = append(c.out, ' ')
	c.out = append(c.out, path...)
	c.out = append(c.out, " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "...)
	c.out = append(c.out, caller...)
	c.out = append(c.out, '\r', '\n')
}

// answer sends what was written and reads the answer; its body as JSON into v, if that
// is not nil.
func (c *conn) answer(v any) (int, http.Header, error) {
	if err := c.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return 0, nil, err
	}
	if _, err := c.Write(c.out); err != nil {
		return 0, nil, err
	}
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return 0, nil, err
	}
	if v != nil {
		err = json.NewDecoder(res.Body).Decode(v)
	}
	_, drained := io.Copy(io.Discard, res.Body)
	if res.Close {
		err = errors.Join(err, errors.New("the server closed a connection that should have been kept alive"))
	}
	return res.StatusCode, res.Header, errors.Join(err, drained, res.Body.Close())
}
