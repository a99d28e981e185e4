package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// What the small run may grow by. A leak of 64 bytes in each of 20,000 requests is
// 1.3 MB. The resident memory is that of the test, and tells nothing.
var small20k = bounds{goroutines: 8, heap: 1 << 20, rss: 1 << 40}

const (
	testCallers  = 2_000
	testWarmup   = 5_000
	testRequests = 20_000
	testClients  = 8
)

// growing runs the check against a server in this process, with something around it.
func growing(t *testing.T, around func(http.Handler) http.Handler) (state, state, error) {
	now := clock.NewManual(0)
	s, err := newService("growth", testCallers, now)
	require.NoError(t, err)
	server := httptest.NewServer(around(s.mux))
	defer server.Close()
	traffic, err := newTraffic(server.URL, testCallers, testClients)
	require.NoError(t, err)
	defer traffic.close()
	forget := func() error {
		now.Advance(resultTTL + 1)
		return nil
	}
	return grow(context.Background(), traffic, testWarmup, testRequests, forget)
}

func TestNothingGrows(t *testing.T) {
	before, after, err := growing(t, func(h http.Handler) http.Handler { return h })
	require.NoError(t, err, "each answer is what the caller's quota demands")
	require.NoError(t, small20k.check(before, after))
	require.Equal(t, testCallers, after.Keys)
	require.Zero(t, after.Results)
	require.Zero(t, after.Evicted)
}

// The check sees a goroutine that is left behind by one request in a thousand, and a
// hundred bytes by each.
func TestALeakIsSeen(t *testing.T) {
	done := make(chan struct{})
	defer close(done)
	var n int
	var kept [][]byte
	one := make(chan struct{}, 1)
	before, after, err := growing(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			one <- struct{}{}
			if n++; n%1000 == 0 {
				go func() { <-done }()
			}
			kept = append(kept, make([]byte, 100))
			<-one
			h.ServeHTTP(w, r)
		})
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(kept), testRequests)
	err = small20k.check(before, after)
	require.ErrorContains(t, err, "goroutines grew")
	require.ErrorContains(t, err, "heap bytes in use grew")
}

// An answer that a caller's quota does not demand ends the run.
func TestAWrongAnswerIsSeen(t *testing.T) {
	for name, spoil := range map[string]func(w http.ResponseWriter, r *http.Request){
		"queries passed": func(_ http.ResponseWriter, r *http.Request) { r.Header.Set("Authorization", "Bearer other") },
		"jobs answered again": func(_ http.ResponseWriter, r *http.Request) {
			r.Method = http.MethodPost
			r.Header.Set("Idempotency-Key", r.RemoteAddr)
		},
		"answers with another status": func(_ http.ResponseWriter, r *http.Request) { r.Header.Del("Authorization") },
	} {
		_, _, err := growing(t, func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != statePath {
					spoil(w, r)
				}
				h.ServeHTTP(w, r)
			})
		})
		require.ErrorContains(t, err, name)
	}
}

func TestBounds(t *testing.T) {
	before := state{Goroutines: 10, Heap: 1000, RSS: 2000}
	b := bounds{goroutines: 1, heap: 10, rss: 20}
	require.NoError(t, b.check(before, state{Goroutines: 11, Heap: 1010, RSS: 2020}))
	require.NoError(t, b.check(before, state{}))
	for says, after := range map[string]state{
		"goroutines":  {Goroutines: 12},
		"heap":        {Heap: 1011},
		"resident":    {RSS: 2021},
		"forgotten":   {Results: 1},
		"keys evicte": {Evicted: 1},
	} {
		require.ErrorContains(t, b.check(before, after), says)
	}
}

// A server says where it listens, and ends with its context.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s, err := newService("allow", 10, clock.NewManual(0))
	require.NoError(t, err)
	out := &firstLine{line: make(chan string, 1)}
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, s, 0, out) }()
	const says = "allow listens on http://"
	line := <-out.line
	require.Contains(t, line, says)
	address := line[len(says) : len(line)-1]
	c, err := dial(address)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	status, err := c.query(caller(1))
	require.NoError(t, err)
	require.Equal(t, 200, status)
	cancel()
	require.NoError(t, <-ended)
	_, err = net.DialTimeout("tcp", address, time.Second)
	require.Error(t, err)
}

type firstLine struct{ line chan string }

func (f *firstLine) Write(p []byte) (int, error) {
	f.line <- string(p)
	return len(p), nil
}
