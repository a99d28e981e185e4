package main

import (
	"bytes"
	"maps"
	"net/http"

	"github.com/tickgate/tickgate/clock"
)

// can is an answer that was written once and is sent to everybody: what its bytes
// cost, and nothing else.
type can struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header, WriteHeader and Write fill a can, as an [http.ResponseWriter].
func (c *can) Header() http.Header         { return c.header }
func (c *can) WriteHeader(status int)      { c.status = status }
func (c *can) Write(p []byte) (int, error) { return c.body.Write(p) }

// ServeHTTP sends what is in the can. It may be used by any number of goroutines at
// once, when nobody writes into it any more.
func (c *can) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	maps.Copy(w.Header(), c.header)
	w.WriteHeader(c.status)
	_, _ = w.Write(c.body.Bytes()) // a client that is gone needs no answer
}

// record takes down the second answer that a service gives a caller: where one request
// a day may pass, a denial.
func record(kind string, now clock.Clock) (*can, error) {
	s, err := newService(kind, 1, now)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequest(http.MethodGet, queryPath, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+caller(0))
	var c *can
	for range 2 {
		c = &can{header: http.Header{}, status: http.StatusOK}
		s.mux.ServeHTTP(c, r)
	}
	return c, nil
}
