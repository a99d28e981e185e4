package httplimit_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
)

// both is a handler behind a limiter and an idempotency.
func both(t *testing.T, h http.Handler) http.Handler {
	g, c := gateOf(t, policyOf(t, "default", "1000/s"))
	return limiterOf(t, g, func(c *httplimit.LimitConfig) { c.RefundReplays = true }).
		Wrap(onceOf(t, storeOf(t, c)).Wrap(h))
}

// A response is sent as it is written, and still kept.
func TestStreaming(t *testing.T) {
	next := make(chan string)
	s := serve(t, "/", both(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		rc := http.NewResponseController(w)
		w.Header().Set("Content-Type", "text/event-stream")
		if rc.Flush() != nil || rc.SetWriteDeadline(time.Time{}) != nil {
			return
		}
		w.Header().Set("Location", "too late")
		for text := range next {
			_, _ = io.WriteString(w, text)
			w.(http.Flusher).Flush()
		}
	})))
	req, err := http.NewRequest("POST", s.URL, nil)
	require.NoError(t, err)
	req.Header.Set("X-API-Key", "a")
	req.Header.Set("Idempotency-Key", "k")
	res, err := s.Client().Do(req)
	require.NoError(t, err, "the header is there before anything is written")
	defer res.Body.Close()
	line := bufio.NewReader(res.Body)
	for i := range 3 {
		next <- fmt.Sprintf("event %d\n", i)
		text, err := line.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("event %d\n", i), text, "arrives while the handler runs")
	}
	close(next)
	_, err = line.ReadString('\n')
	require.ErrorIs(t, err, io.EOF)
	a := ask(t, s, "POST", "/", "", "X-API-Key", "a", "Idempotency-Key", "k")
	require.Equal(t, "event 0\nevent 1\nevent 2\n", a.body)
	require.Equal(t, "text/event-stream", a.header.Get("Content-Type"))
	require.NotContains(t, a.header, "Location", "it was not sent at first either")
	require.Equal(t, "true", a.header.Get("Idempotent-Replayed"))
}

func TestHijack(t *testing.T) {
	runs, ended := 0, make(chan struct{}, 2)
	hijacks := both(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		runs++
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, err.Error(), 500)
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nraw")
		_ = rw.Flush()
	}))
	s := serve(t, "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hijacks.ServeHTTP(w, r)
		ended <- struct{}{}
	}))
	for i := range 2 {
		a := ask(t, s, "POST", "/", "", "X-API-Key", "a", "Idempotency-Key", "k")
		<-ended
		require.Equal(t, "raw", a.body)
		require.Equal(t, i+1, runs, "there is no result to keep")
	}
	w := posts(both(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _, err := http.NewResponseController(w).Hijack()
		require.ErrorIs(t, err, http.ErrNotSupported)
	})), "k", "")
	require.Equal(t, 200, w.Code)
}

// An interim response is handed on and is not the result.
func TestInterimResponses(t *testing.T) {
	runs := 0
	s := serve(t, "/", both(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		runs++
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "made")
	})))
	for range 2 {
		a := ask(t, s, "POST", "/", "", "X-API-Key", "a", "Idempotency-Key", "k")
		require.Equal(t, 201, a.status)
		require.Equal(t, "made", a.body)
	}
	require.Equal(t, 1, runs)
}

// A response without a body says no length of it.
func TestNoBody(t *testing.T) {
	for _, status := range []int{204, 304} {
		once := onceOf(t, storeOf(t, clock.NewManual(0))).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
		}))
		for range 2 {
			w := posts(once, "k", "")
			require.Equal(t, status, w.Code)
			require.NotContains(t, w.Header(), "Content-Length")
		}
	}
}

// The files of an uploaded form are left to the server that made the request.
func TestFormsAreFoundByTheServer(t *testing.T) {
	h := both(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		require.NoError(t, r.ParseMultipartForm(1))
		require.Len(t, r.MultipartForm.File["f"], 1)
	}))
	r := httptest.NewRequest("POST", "/", strings.NewReader(
		"--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\ntext\r\n--b--\r\n"))
	r.Pattern = "POST /"
	r.Header = http.Header{"X-Api-Key": {"a"}, "Idempotency-Key": {"k"}, "Content-Type": {"multipart/form-data; boundary=b"}}
	h.ServeHTTP(httptest.NewRecorder(), r)
	require.NotNil(t, r.MultipartForm)
	require.NoError(t, r.MultipartForm.RemoveAll())
}

func TestAPanicGoesOnAndIsForgotten(t *testing.T) {
	store, runs := storeOf(t, clock.NewManual(0)), 0
	panics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if runs++; runs == 1 {
			w.WriteHeader(200)
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "done")
	})
	once := onceOf(t, store).Wrap(panics)
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { posts(once, "k", "") })
	require.Equal(t, "done", posts(once, "k", "").Body.String())

	runs = 0
	kept := onceOf(t, store, func(c *httplimit.IdempotencyConfig) { c.KeepServerErrors = true }).Wrap(panics)
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { posts(kept, "k2", "") })
	w := posts(kept, "k2", "")
	require.Equal(t, 500, w.Code)
	require.Contains(t, w.Body.String(), "handler_failed")
	require.Equal(t, 1, runs)
}

// gone is a client that takes some bytes and then no more.
type gone struct {
	*httptest.ResponseRecorder
	takes int
}

func (g *gone) Write(p []byte) (int, error) {
	if g.takes -= len(p); g.takes < 0 {
		return 0, errors.New("broken pipe")
	}
	return g.ResponseRecorder.Write(p)
}

// When the client goes away half way, its retry gets the whole result.
func TestTheClientGoesAway(t *testing.T) {
	for _, most := range []int{1000, 5} {
		runs := 0
		var failed error
		once := onceOf(t, storeOf(t, clock.NewManual(0)), func(c *httplimit.IdempotencyConfig) { c.MaxResult = most }).Wrap(
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				runs++
				for _, part := range []string{"one ", "two ", "three"} {
					if _, err := io.WriteString(w, part); err != nil {
						failed = err
						return
					}
				}
			}))
		r := httptest.NewRequest("POST", "/", strings.NewReader("x"))
		r.Pattern = "POST /"
		r.Header.Set("X-API-Key", "a")
		r.Header.Set("Idempotency-Key", "k")
		once.ServeHTTP(&gone{httptest.NewRecorder(), 4}, r)
		w := posts(once, "k", "x")
		require.Equal(t, 1, runs)
		if most == 1000 {
			require.NoError(t, failed, "the handler completes the result")
			require.Equal(t, "one two three", w.Body.String())
		} else {
			require.Error(t, failed, "nobody is left to write for")
			require.Equal(t, 409, w.Code)
		}
	}
}

// A handler that gave up because the client did has no result, though the server would
// make it a 200.
func TestAHandlerThatGaveUpHasNoResult(t *testing.T) {
	runs := 0
	ctx, cancel := context.WithCancel(context.Background())
	once := onceOf(t, storeOf(t, clock.NewManual(0))).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if runs++; runs == 1 {
			cancel()
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, "done")
	}))
	r := httptest.NewRequest("POST", "/", nil).WithContext(ctx)
	r.Pattern = "POST /"
	r.Header.Set("X-API-Key", "a")
	r.Header.Set("Idempotency-Key", "k")
	once.ServeHTTP(httptest.NewRecorder(), r)
	require.Equal(t, "done", posts(once, "k", "").Body.String())
	require.Equal(t, 2, runs)
}

func TestAHandlerThatWritesNothing(t *testing.T) {
	runs := 0
	once := onceOf(t, storeOf(t, clock.NewManual(0))).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		runs++
		w.Header().Set("Location", "/x")
	}))
	for range 2 {
		w := posts(once, "k", "")
		require.Equal(t, 200, w.Code)
		require.Equal(t, "/x", w.Header().Get("Location"))
	}
	require.Equal(t, 1, runs)
}

// A response that broke off is not a result.
func TestABodyShorterThanAnnounced(t *testing.T) {
	runs := 0
	s := serve(t, "/", onceOf(t, storeOf(t, clock.NewManual(0))).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		runs++
		w.Header().Set("Content-Length", "4")
		_, _ = io.WriteString(w, "abcd"[:2*runs])
	})))
	req, err := http.NewRequest("POST", s.URL, nil)
	require.NoError(t, err)
	req.Header = http.Header{"X-Api-Key": {"a"}, "Idempotency-Key": {"k"}}
	res, err := s.Client().Do(req)
	require.NoError(t, err)
	_, err = io.ReadAll(res.Body)
	require.Error(t, err)
	require.NoError(t, res.Body.Close())
	for range 2 {
		require.Equal(t, "abcd", ask(t, s, "POST", "/", "", "X-API-Key", "a", "Idempotency-Key", "k").body)
	}
	require.Equal(t, 2, runs)
}

// A result for which there is no room is not run again: the retry is told so.
func TestAResultTooLargeToKeep(t *testing.T) {
	for what, change := range map[string]func(*idem.Config, *httplimit.IdempotencyConfig){
		"for the middleware": func(_ *idem.Config, c *httplimit.IdempotencyConfig) { c.MaxResult = 9999 },
		"for the store":      func(c *idem.Config, _ *httplimit.IdempotencyConfig) { c.MaxBytes = idem.RecordBytes + idem.RoomyResult },
	} {
		sc, runs := idem.Config{Clock: clock.NewManual(0)}, 0
		hc := httplimit.IdempotencyConfig{Scope: apikey}
		var reported []error
		hc.Report = func(_ *http.Request, err error) { reported = append(reported, err) }
		change(&sc, &hc)
		store, err := idem.NewStore(sc)
		require.NoError(t, err)
		hc.Store = store
		m, err := httplimit.NewIdempotency(hc)
		require.NoError(t, err)
		s := serve(t, "/", m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			runs++
			_, _ = io.WriteString(w, strings.Repeat("x", 10000))
		})))
		require.Len(t, ask(t, s, "POST", "/", "", "X-API-Key", "a", "Idempotency-Key", "k").body, 10000)
		a := ask(t, s, "POST", "/", "", "X-API-Key", "a", "Idempotency-Key", "k")
		require.Equal(t, 409, a.status, what)
		require.Equal(t, "result_not_kept", a.code(t))
		require.Equal(t, 1, runs)
		require.NotContains(t, a.header, "Retry-After")
		if what == "for the store" {
			require.Len(t, reported, 1)
			require.ErrorIs(t, reported[0], idem.ErrFull)
			require.NotContains(t, reported[0].Error(), "\n", "the short result had room")
		} else {
			require.Empty(t, reported)
		}
	}
}

// A time-out around the idempotency does not stop the result from being kept.
func TestATimeOutOutside(t *testing.T) {
	runs, release, done := 0, make(chan struct{}), make(chan struct{})
	once := onceOf(t, storeOf(t, clock.NewManual(0))).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		runs++
		<-release
		w.WriteHeader(201)
		_, _ = io.WriteString(w, "made")
	}))
	var timed http.Handler = http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.ServeHTTP(w, r)
		close(done)
	}), time.Millisecond, "too slow")
	require.Equal(t, 503, posts(timed, "k", "").Code)
	close(release)
	<-done
	w := posts(once, "k", "")
	require.Equal(t, 201, w.Code)
	require.Equal(t, "made", w.Body.String())
	require.Equal(t, 1, runs)
}
