package front

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/idem"
)

const open = `[{"endpoint":"default","limits":["unlimited"]}]`

// raw sends bytes as they are and returns the status of the answer.
func raw(t *testing.T, g *rig, text string) int {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	return res.StatusCode
}

func TestRetries(t *testing.T) {
	var runs atomic.Int32
	g := put(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(202)
		fmt.Fprintf(w, "job %d", runs.Add(1))
	}, open, nil)
	post := func(body, id, who string) reply {
		return g.send(t, "POST", "/jobs", body, "Authorization", who, "Idempotency-Key", id)
	}
	first := post("a", "7", alice)
	require.Equal(t, 202, first.StatusCode)
	require.Empty(t, first.Header.Get("Idempotent-Replayed"))
	again := post("a", `"7"`, alice) // quoted, as the draft has it
	require.Equal(t, 202, again.StatusCode)
	require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
	require.Equal(t, first.text, again.text)
	require.Equal(t, 422, post("b", "7", alice).StatusCode)
	require.Equal(t, "job 2", post("a", "7", bob).text)
	require.Equal(t, "job 3", post("a", "8", alice).text)
	require.Equal(t, "job 4", g.send(t, "POST", "/jobs", "a", "Authorization", alice).text)
	require.Equal(t, "job 5", g.send(t, "POST", "/jobs", "a", "Authorization", alice).text)
	g.clock.Advance(24*time.Hour + time.Second)
	require.Equal(t, "job 6", post("a", "7", alice).text)
	for range 8 {
		<-g.ended
	}
	require.Contains(t, g.log.String(), "status=202 replayed=true")
	require.Contains(t, g.log.String(), "status=422 replayed=false")
	require.Contains(t, g.log.String(), "error=idempotency_key_reused")
}

func TestRetriesByAField(t *testing.T) {
	var runs atomic.Int32
	g := put(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%d %s", runs.Add(1), b)
	}, open, func(c *Config) { c.Once.Field, c.Once.Missing = "order_id", httplimit.RequireID })
	post := func(body string) reply { return g.send(t, "POST", "/", body, "Authorization", alice) }
	require.Equal(t, `1 {"order_id":"a","n":1}`, post(`{"order_id":"a","n":1}`).text)
	require.Equal(t, `1 {"order_id":"a","n":1}`, post(`{"order_id":"a","n":1}`).text)
	require.Equal(t, 422, post(`{"order_id":"a","n":2}`).StatusCode)
	require.Equal(t, 400, post(`{"n":2}`).StatusCode)
	require.Equal(t, 400, post(`not JSON`).StatusCode)
	require.Equal(t, 413, post(`{"n":"`+strings.Repeat("x", 1<<20)+`"}`).StatusCode)
	require.EqualValues(t, 1, runs.Load())
}

func TestRetriesByHash(t *testing.T) {
	var runs atomic.Int32
	g := put(t, func(http.ResponseWriter, *http.Request) { runs.Add(1) }, open,
		func(c *Config) { c.Once.Missing = httplimit.HashContent })
	for range 3 {
		g.send(t, "POST", "/", "same", "Authorization", alice)
	}
	g.send(t, "POST", "/", "other", "Authorization", alice)
	require.EqualValues(t, 2, runs.Load())
}

func TestRetriesHandedOn(t *testing.T) {
	var runs atomic.Int32
	g := put(t, func(http.ResponseWriter, *http.Request) { runs.Add(1) }, open, func(c *Config) { c.Once = nil })
	for range 3 {
		g.send(t, "POST", "/", "", "Authorization", alice, "Idempotency-Key", "7")
	}
	require.EqualValues(t, 3, runs.Load())
}

func TestTwoAtOnce(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	g := put(t, func(http.ResponseWriter, *http.Request) {
		close(begun)
		<-goOn
	}, open, nil)
	post := func() reply { return g.send(t, "POST", "/", "", "Authorization", alice, "Idempotency-Key", "7") }
	first := make(chan reply, 1)
	go func() { first <- post() }()
	<-begun
	second := post()
	require.Equal(t, 409, second.StatusCode)
	require.NotEmpty(t, second.Header.Get("Retry-After"))
	require.Contains(t, second.text, "idempotency_in_flight")
	close(goOn)
	require.Equal(t, 200, (<-first).StatusCode)
}

// TestUpstreamThatFailed: its 5xx are no results, so that the retry is tried.
func TestUpstreamThatFailed(t *testing.T) {
	var runs atomic.Int32
	g := put(t, func(w http.ResponseWriter, _ *http.Request) {
		if runs.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
	}, open, nil)
	post := func() int {
		return g.send(t, "POST", "/", "x", "Authorization", alice, "Idempotency-Key", "7").StatusCode
	}
	require.Equal(t, []int{502, 200, 200}, []int{post(), post(), post()})
	require.EqualValues(t, 2, runs.Load())
}

// TestClientGoneBeforeTheAnswer: what the upstream answers is there for the retry, if
// the request can be one; if it cannot, the upstream is told.
func TestClientGoneBeforeTheAnswer(t *testing.T) {
	begun, goOn := make(chan struct{}, 1), make(chan struct{})
	cancelled := make(chan struct{}, 1)
	var runs atomic.Int32
	g := put(t, func(w http.ResponseWriter, r *http.Request) {
		runs.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		begun <- struct{}{}
		select {
		case <-goOn:
			fmt.Fprint(w, "done")
		case <-r.Context().Done():
			cancelled <- struct{}{}
		}
	}, open, nil)
	leave := func(header ...string) {
		ctx, cancel := context.WithCancel(context.Background())
		gone := make(chan error, 1)
		r := g.request(t, "POST", "/", "x", append(header, "Authorization", alice)...).WithContext(ctx)
		go func() {
			res, err := g.Client().Do(r)
			if err == nil {
				_ = res.Body.Close()
			}
			gone <- err
		}()
		<-begun
		cancel()
		require.ErrorIs(t, <-gone, context.Canceled)
		<-g.gone // the server has seen it
	}
	leave()
	<-cancelled
	<-g.ended
	leave("Idempotency-Key", "7")
	close(goOn)
	<-g.ended
	res := g.send(t, "POST", "/", "x", "Authorization", alice, "Idempotency-Key", "7")
	require.Equal(t, "done", res.text)
	require.Equal(t, "true", res.Header.Get("Idempotent-Replayed"))
	require.EqualValues(t, 2, runs.Load())
}

func TestOutlast(t *testing.T) {
	// Gone: it goes on, for the time that was given.
	parent, gone := context.WithCancelCause(context.Background())
	ctx, done := outlast(parent, time.Millisecond)
	defer done()
	gone(nil)
	<-ctx.Done()

	parent, gone = context.WithCancelCause(context.Background())
	ctx, done = outlast(parent, time.Hour)
	gone(nil)
	require.NoError(t, ctx.Err())
	done()
	require.Error(t, ctx.Err())

	// Lost: it ends at once.
	parent, gone = context.WithCancelCause(context.Background())
	ctx, done = outlast(parent, time.Hour)
	defer done()
	gone(idem.ErrLost)
	<-ctx.Done()
	require.ErrorIs(t, context.Cause(ctx), idem.ErrLost)
}
