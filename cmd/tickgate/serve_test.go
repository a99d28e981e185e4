package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func upstream(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestServeMemory(t *testing.T) {
	s := serve(t, map[string]string{"MEM_RATE_LIMIT_INGEST": "11/hour", "MEM_RATE_LIMIT_BURST": "100"}, "--example", "memory")
	ingest := func(body string) answer {
		return s.send(t, "POST", "/memory/ingest", body, "Authorization", "Bearer alice-s3cret")
	}
	job := func(a answer) string {
		var body struct {
			Job string `json:"job_id"`
		}
		require.Equal(t, 202, a.StatusCode, a.text)
		require.NoError(t, json.Unmarshal([]byte(a.text), &body))
		require.NotEmpty(t, body.Job)
		return body.Job
	}
	first := ingest(`{"ingest_id":"m-1","content":"one"}`)
	again := ingest(`{"ingest_id":"m-1","content":"one"}`)
	require.Equal(t, job(first), job(again))
	require.Empty(t, first.Header.Get("Idempotent-Replayed"))
	require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
	require.Equal(t, 422, ingest(`{"ingest_id":"m-1","content":"two"}`).StatusCode)
	for i := range 8 {
		ingest(fmt.Sprintf(`{"content":"%d"}`, i))
	}
	denied := ingest(`{"content":"too many"}`)
	require.Equal(t, 429, denied.StatusCode)
	require.NotEmpty(t, denied.Header.Get("Retry-After"))
	require.Contains(t, denied.Header.Get("RateLimit"), `"hour";r=0`)
	require.Contains(t, denied.text, `"reason":"11 requests/hour for POST /memory/ingest"`)
	require.Equal(t, 200, s.send(t, "GET", "/memory/query?q=s3cret", "", "X-API-Key", "alice-s3cret").StatusCode)
	require.Equal(t, 401, s.send(t, "GET", "/memory/query", "").StatusCode)

	s.client.CloseIdleConnections()
	s.stop()
	require.Equal(t, exitOK, <-s.status)
	require.Contains(t, s.String(), `endpoint="POST /memory/ingest" status=202 replayed=true`)
	require.Contains(t, s.String(), "shutting down")
	require.NotContains(t, s.String(), "s3cret")
}

// TestServeMemoryTwoAtOnce: of two that come at once, one waits out the delay.
func TestServeMemoryTwoAtOnce(t *testing.T) {
	s := serve(t, nil, "--example", "memory", "--delay", "30s")
	ctx, cancel := context.WithCancel(context.Background())
	statuses := make(chan int, 2)
	for range 2 {
		r, err := http.NewRequestWithContext(ctx, "POST", "http://"+s.address+"/memory/ingest", strings.NewReader(`{"content":"x"}`))
		require.NoError(t, err)
		r.Header.Set("X-API-Key", "k")
		go func() {
			res, err := s.client.Do(r)
			if err != nil {
				statuses <- 0
				return
			}
			_ = res.Body.Close()
			statuses <- res.StatusCode
		}()
	}
	require.Equal(t, 409, <-statuses)
	cancel()
	require.Zero(t, <-statuses)
}

func TestServeUpstream(t *testing.T) {
	runs := 0
	url := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		runs++
		fmt.Fprintf(w, "%d %s for %s", runs, b, r.Header.Get("X-Forwarded-For"))
	})
	keys := write(t, "keys.txt", "alice-s3cret\n")
	policies := write(t, "api.yaml", "- endpoint: POST /orders/{id}\n  limits: [3/h]\n- endpoint: default\n  limits: [deny]\n")
	s := serve(t, nil, "--upstream", url, "--policies", policies, "--set", "GET /health=1/h", "--keys", keys,
		"--max-body", "1KiB", "--max-header", "4KiB", "--headers", "both", "--log", "json")
	send := func(method, path, body string, header ...string) answer {
		return s.send(t, method, path, body, append(header, "X-API-Key", "alice-s3cret")...)
	}
	first := send("POST", "/orders/1", "a", "Idempotency-Key", "k-1", "X-Forwarded-For", "10.0.0.1")
	require.Equal(t, 200, first.StatusCode)
	require.Equal(t, "1 a for 127.0.0.1", first.text)
	require.Equal(t, `"3/h";r=2;t=2400`, first.Header.Get("RateLimit"))
	require.Equal(t, "3", first.Header.Get("X-RateLimit-Limit"))
	again := send("POST", "/orders/1", "a", "Idempotency-Key", "k-1")
	require.Equal(t, first.text, again.text)
	require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
	require.Equal(t, 422, send("POST", "/orders/1", "b", "Idempotency-Key", "k-1").StatusCode)
	denied := send("POST", "/orders/2", "c")
	require.Equal(t, 429, denied.StatusCode)
	require.Equal(t, "application/problem+json", denied.Header.Get("Content-Type"))
	require.Contains(t, denied.text, `"reason":"3 requests/hour for POST /orders/{id}"`)
	require.Equal(t, 200, send("GET", "/health", "").StatusCode)
	require.Equal(t, 429, send("GET", "/elsewhere", "").StatusCode)
	require.Equal(t, 401, s.send(t, "GET", "/health", "", "X-API-Key", "mallory-s3cret").StatusCode)
	require.Equal(t, 401, s.send(t, "GET", "/health", "").StatusCode)
	require.Equal(t, 431, send("GET", "/health", "", "X-Long", strings.Repeat("x", 20<<10)).StatusCode)

	s.client.CloseIdleConnections()
	s.stop()
	require.Equal(t, exitOK, <-s.status)
	require.Equal(t, 2, runs)
	require.Contains(t, s.String(), `"endpoint":"POST /orders/{id}","status":429,"replayed":false`)
	require.Contains(t, s.String(), `"limit":"3/h"`)
	require.Contains(t, s.String(), `"error":"caller_unknown"`)
	for _, secret := range []string{"s3cret", "/orders/1", "elsewhere", "k-1", "10.0.0.1"} {
		require.NotContains(t, s.String(), secret)
	}
}

// TestServeBodies: what is too large, with and without a key for retries.
func TestServeBodies(t *testing.T) {
	s := serve(t, nil, "--upstream", upstream(t, func(http.ResponseWriter, *http.Request) {}), "--max-body", "1KiB")
	for _, retried := range []bool{false, true} {
		for _, chunked := range []bool{false, true} {
			for size, status := range map[int]int{1 << 10: 200, 1<<10 + 1: 413, 10 << 20: 413} {
				var body io.Reader = strings.NewReader(strings.Repeat("x", size))
				if chunked {
					body = struct{ io.Reader }{body}
				}
				r, err := http.NewRequest("POST", "http://"+s.address, body)
				require.NoError(t, err)
				if retried {
					r.Header.Set("Idempotency-Key", fmt.Sprintf("%d-%t", size, chunked))
				}
				require.Equal(t, status, s.do(t, r, "X-API-Key", "k").StatusCode)
			}
		}
	}
}

// TestServeUpgradeAndStream: through all layers.
func TestServeUpgradeAndStream(t *testing.T) {
	goOn := make(chan struct{})
	s := serve(t, nil, "--shutdown-timeout", "0s", "--upstream", upstream(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.Header.Get("Upgrade") == "" {
			fmt.Fprintln(w, "first")
			_ = control.Flush()
			<-goOn
			fmt.Fprintln(w, "second")
			return
		}
		conn, rw, err := control.Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_, _ = io.Copy(conn, rw)
	}))
	conn, err := net.Dial("tcp", s.address)
	require.NoError(t, err)
	defer conn.Close()
	in := bufio.NewReader(conn)
	fmt.Fprint(conn, "POST /stream HTTP/1.1\r\nHost: x\r\nX-API-Key: k\r\nIdempotency-Key: 7\r\nContent-Length: 0\r\n\r\n")
	res, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	parts := bufio.NewReader(res.Body)
	line, err := parts.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "first\n", line)
	close(goOn)
	rest, err := io.ReadAll(parts)
	require.NoError(t, err)
	require.Equal(t, "second\n", string(rest))

	fmt.Fprint(conn, "GET /ws HTTP/1.1\r\nHost: x\r\nX-API-Key: k\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	res, err = http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, 101, res.StatusCode)
	for range 3 {
		fmt.Fprint(conn, "ping\n")
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "ping\n", line)
	}
	s.stop()
	require.Equal(t, exitOK, <-s.status)
	_, err = in.ReadString('\n')
	require.Error(t, err)
}

// TestServeEndsWithARequestUnderWay: it is answered first.
func TestServeEndsWithARequestUnderWay(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := serve(t, nil, "--upstream", upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-goOn
		fmt.Fprint(w, "whole")
	}))
	got := make(chan string, 1)
	go func() {
		r, _ := http.NewRequest("GET", "http://"+s.address, nil)
		r.Header.Set("X-API-Key", "k")
		res, err := s.client.Do(r)
		if err != nil {
			got <- err.Error()
			return
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		got <- string(text)
	}()
	<-begun
	s.stop()
	close(goOn)
	require.Equal(t, "whole", <-got)
	require.Equal(t, exitOK, <-s.status)
}

func TestServeCutsOffWhatTakesTooLong(t *testing.T) {
	begun := make(chan struct{})
	s := serve(t, nil, "--shutdown-timeout", "10ms", "--upstream", upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	}))
	s.begin()
	<-begun
	s.stop()
	require.Equal(t, exitFailed, <-s.status)
	require.Contains(t, s.String(), "tickgate: requests cut off at the end: 1")
}

// TestServeOptions: "OPTIONS *" is answered by no other layer than all are.
func TestServeOptions(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--example", "memory"}, "401"},
		{[]string{"--upstream", upstream(t, func(http.ResponseWriter, *http.Request) {})}, "400"},
	} {
		s := serve(t, nil, c.args...)
		conn, err := net.Dial("tcp", s.address)
		require.NoError(t, err)
		fmt.Fprint(conn, "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		text, err := io.ReadAll(conn)
		require.NoError(t, err)
		require.Equal(t, "HTTP/1.1 "+c.want, string(text[:12]))
		require.NoError(t, conn.Close())
		s.stop()
		require.Equal(t, exitOK, <-s.status)
		require.Contains(t, s.String(), "endpoint=default status="+c.want)
	}
}

func TestServeLogCallers(t *testing.T) {
	s := serve(t, nil, "--log-callers", "--upstream", upstream(t, func(http.ResponseWriter, *http.Request) {}))
	for _, key := range []string{"a-s3cret", "a-s3cret", "b-s3cret"} {
		require.Equal(t, 200, s.send(t, "GET", "/", "", "X-API-Key", key).StatusCode)
	}
	s.client.CloseIdleConnections()
	s.stop()
	require.Equal(t, exitOK, <-s.status)
	found := regexp.MustCompile(`caller=([0-9a-f]{8})\n`).FindAllStringSubmatch(s.String(), -1)
	require.Len(t, found, 3, s.String())
	require.Equal(t, found[0][1], found[1][1])
	require.NotEqual(t, found[0][1], found[2][1])
	require.NotContains(t, s.String(), "s3cret")
	plain := sha256.Sum256([]byte("a-s3cret"))
	require.NotEqual(t, hex.EncodeToString(plain[:4]), found[0][1], "a hash that can be tried")
}

// TestServeRetries: the flags reach what they are for.
func TestServeRetries(t *testing.T) {
	s := serve(t, nil, "--idempotency-per-caller", "4", "--idempotency-result", "8B", "--idempotency-header", "X-Own",
		"--upstream", upstream(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Own", "yes")
			_, _ = io.Copy(w, r.Body)
		}))
	post := func(id, body string) answer {
		return s.send(t, "POST", "/", body, "X-API-Key", "k", "Idempotency-Key", id)
	}
	post("1", "short")
	again := post("1", "short")
	require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
	require.Equal(t, "yes", again.Header.Get("X-Own"))
	require.Equal(t, 200, post("2", "too long to keep").StatusCode)
	require.Contains(t, post("2", "too long to keep").text, "result_not_kept")
	denied := post("3", "short")
	require.Equal(t, 429, denied.StatusCode)
	require.Contains(t, denied.text, "idempotency_quota")
	require.NotEmpty(t, denied.Header.Get("Retry-After"))
}

func TestServeAddressTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	refused(t, exitFailed, "--listen 127.0.0.1:", "", "serve", "--example", "memory", "--admin", "off", "--listen", taken.Addr().String())
}
