package httplimit

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"strconv"

	"github.com/tickgate/tickgate/idem"
)

// recorder hands a response on to the client as it is written, and keeps a copy. It
// is for one handler at a time, as any ResponseWriter.
type recorder struct {
	w       http.ResponseWriter
	headers []string // to keep
	most    int      // bytes of the body to keep

	status   int // 0 until it is known
	header   [][2]string
	length   string // Content-Length, where the handler said it
	body     []byte
	over     bool  // the body is longer than most
	gone     error // why the client gets no more
	hijacked bool
}

// Unwrap is for [http.ResponseController].
func (c *recorder) Unwrap() http.ResponseWriter { return c.w }

// Header returns the header of the response that is handed on.
func (c *recorder) Header() http.Header { return c.w.Header() }

// WriteHeader keeps the status and the headers, except of an interim response.
func (c *recorder) WriteHeader(status int) {
	if c.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		c.note(status)
	}
	c.w.WriteHeader(status)
}

// note keeps the status, and the headers as they are now.
func (c *recorder) note(status int) {
	c.status = status
	h := c.w.Header()
	for _, name := range c.headers {
		for _, v := range h[name] {
			c.header = append(c.header, [2]string{name, v})
		}
	}
	c.length = h.Get(headerLength)
}

// Write keeps p and hands it on. When the client is gone the handler is not told of
// it, so that it completes the result for the retry: for as long as there is room to
// keep it.
func (c *recorder) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.note(http.StatusOK)
	}
	if c.gone != nil {
		if c.keep(p); c.over {
			return 0, c.gone
		}
		return len(p), nil
	}
	n, err := c.w.Write(p)
	switch {
	case err == nil:
		c.keep(p)
	case errors.Is(err, http.ErrBodyNotAllowed), errors.Is(err, http.ErrHijacked), errors.Is(err, http.ErrContentLength):
		// The handler's own fault, of which it is told: nothing was sent.
	default:
		c.gone = err
		if c.keep(p); !c.over {
			return len(p), nil
		}
	}
	return n, err
}

func (c *recorder) keep(p []byte) {
	if c.over || len(p) > c.most-len(c.body) {
		c.over, c.body = true, nil
		return
	}
	c.body = append(c.body, p...)
}

// Flush is for those who ask for an [http.Flusher].
func (c *recorder) Flush() { _ = c.FlushError() }

// FlushError is for [http.ResponseController]. It sends the header, if that was not
// sent before.
func (c *recorder) FlushError() error {
	if c.status == 0 {
		c.note(http.StatusOK)
	}
	return http.NewResponseController(c.w).Flush()
}

// Hijack gives the connection away. There is no result to keep then.
func (c *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(c.w).Hijack()
	if err == nil {
		c.hijacked = true
	}
	return conn, rw, err
}

// short reports whether the body ended before the length that the handler announced.
func (c *recorder) short(method string) bool {
	if c.length == "" || c.over || method == http.MethodHead || c.status == http.StatusNotModified {
		return false
	}
	return c.length != strconv.Itoa(len(c.body))
}

// result is what was kept.
func (c *recorder) result() idem.Result {
	return idem.Result{Status: c.status, Header: c.header, Body: c.body}
}
