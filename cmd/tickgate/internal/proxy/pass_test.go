package proxy

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRequestGoesThroughAsItIs(t *testing.T) {
	var got *http.Request
	var body string
	g := behind(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
		w.Header().Set("X-Answer", "yes")
		w.WriteHeader(201)
		fmt.Fprint(w, "done")
	}, func(c *Config) { c.Upstream.Path = "/base" })
	res, text := g.send(t, "POST", "/a%2Fb/c?x=1&y=%20", "data", http.Header{"X-Api-Key": {"k"}, "Idempotency-Key": {"7"}})
	require.Equal(t, 201, res.StatusCode)
	require.Equal(t, "done", text)
	require.Equal(t, "yes", res.Header.Get("X-Answer"))
	require.Equal(t, `"hour";r=1`, res.Header.Get("RateLimit"))
	require.Equal(t, "/base/a%2Fb/c?x=1&y=%20", got.RequestURI)
	require.Equal(t, "data", body)
	require.Equal(t, "k", got.Header.Get("X-API-Key"))
	require.Equal(t, "7", got.Header.Get("Idempotency-Key"))
	require.Equal(t, "127.0.0.1", got.Header.Get("X-Forwarded-For"))
	require.Equal(t, strings.TrimPrefix(g.URL, "http://"), got.Header.Get("X-Forwarded-Host"))
	require.Equal(t, "http", got.Header.Get("X-Forwarded-Proto"))
	require.NotEqual(t, got.Host, got.Header.Get("X-Forwarded-Host"))
}

// TestForwarding: what clients say of whom they ask for is dropped, unless they are
// trusted.
func TestForwarding(t *testing.T) {
	lies := http.Header{
		"X-Forwarded-For": {"10.0.0.1", "10.0.0.2"}, "X-Forwarded-Host": {"bank.test"}, "X-Forwarded-Proto": {"https"},
		"X-Forwarded-Port": {"443"}, "X-Real-Ip": {"10.0.0.1"}, "Forwarded": {"for=10.0.0.1"}, "X_forwarded_for": {"10.0.0.1"},
		"X-Original-Url": {"/admin"}, "X-Rewrite-Url": {"/admin"}, "X_rewrite_url": {"/admin"}, "X-Http-Method-Override": {"DELETE"},
		"X-Http-Method": {"DELETE"}, "X-Method-Override": {"DELETE"}, "True-Client-Ip": {"10.0.0.1"}, "X-Original-Host": {"bank.test"},
	}
	for _, trust := range []bool{false, true} {
		var got http.Header
		g := behind(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header },
			func(c *Config) { c.TrustForwarded = trust })
		g.send(t, "GET", "/", "", lies)
		if !trust {
			require.Equal(t, []string{"127.0.0.1"}, got["X-Forwarded-For"])
			require.Equal(t, []string{"http"}, got["X-Forwarded-Proto"])
			require.NotEqual(t, []string{"bank.test"}, got["X-Forwarded-Host"])
			for name := range lies {
				if name != "X-Forwarded-For" && name != "X-Forwarded-Host" && name != "X-Forwarded-Proto" {
					require.NotContains(t, got, name)
				}
			}
			continue
		}
		require.Equal(t, []string{"10.0.0.1, 10.0.0.2, 127.0.0.1"}, got["X-Forwarded-For"])
		require.Equal(t, []string{"https"}, got["X-Forwarded-Proto"])
		require.Equal(t, []string{"bank.test"}, got["X-Forwarded-Host"])
		require.Equal(t, []string{"443"}, got["X-Forwarded-Port"])
		require.Equal(t, []string{"/admin"}, got["X-Original-Url"])
		require.Equal(t, []string{"DELETE"}, got["X-Http-Method-Override"])
		require.Equal(t, []string{"for=10.0.0.1"}, got["Forwarded"])

		g.send(t, "GET", "/", "", nil)
		require.Equal(t, []string{"127.0.0.1"}, got["X-Forwarded-For"])
		require.Equal(t, []string{"http"}, got["X-Forwarded-Proto"])
	}
}

// TestStream: what the upstream has sent so far is there, while it has not ended.
func TestStream(t *testing.T) {
	goOn := make(chan struct{})
	g := behind(t, func(w http.ResponseWriter, r *http.Request) {
		for i := range 3 {
			fmt.Fprintf(w, "part %d\n", i)
			_ = http.NewResponseController(w).Flush()
			<-goOn
		}
	}, nil)
	res, err := g.Client().Get(g.URL)
	require.NoError(t, err)
	defer res.Body.Close()
	in := bufio.NewReader(res.Body)
	for i := range 3 {
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("part %d\n", i), line)
		goOn <- struct{}{}
	}
	_, err = in.ReadString('\n')
	require.Equal(t, io.EOF, err)
}

func TestTrailers(t *testing.T) {
	g := behind(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		fmt.Fprint(w, "body")
		w.Header().Set("X-Sum", "5")
		w.Header().Set(http.TrailerPrefix+"X-Late", "6")
	}, nil)
	res, text := g.send(t, "GET", "/", "", nil)
	require.Equal(t, "body", text)
	require.Equal(t, "5", res.Trailer.Get("X-Sum"))
	require.Equal(t, "6", res.Trailer.Get("X-Late"))
}

// TestInterim: early hints reach the client, and do not take the headers of the final
// answer with them.
func TestInterim(t *testing.T) {
	g := behind(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</a.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusOK)
	}, nil)
	var hints []int
	r, err := http.NewRequest("GET", g.URL, nil)
	require.NoError(t, err)
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, _ textproto.MIMEHeader) error { hints = append(hints, code); return nil },
	}))
	res, err := g.Client().Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, []int{103}, hints)
	require.Equal(t, 200, res.StatusCode)
	require.Equal(t, []string{`"hour";r=1`}, res.Header["Ratelimit"])
	require.Equal(t, []string{"</a.css>"}, res.Header["Link"])
}

// TestUpgrade: both ends talk over the connection once the protocol is switched.
func TestUpgrade(t *testing.T) {
	upstreamEnded := make(chan struct{})
	g := behind(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(upstreamEnded)
		if r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Connection") != "Upgrade" {
			w.WriteHeader(400)
			return
		}
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = rw.Flush()
		for {
			line, err := rw.ReadString('\n')
			if err != nil {
				return
			}
			fmt.Fprint(rw, "echo ", line)
			_ = rw.Flush()
		}
	}, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
	require.NoError(t, err)
	fmt.Fprint(conn, "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, 101, res.StatusCode)
	require.Equal(t, `"hour";r=1`, res.Header.Get("RateLimit"))
	for i := range 3 {
		fmt.Fprintf(conn, "%d\n", i)
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("echo %d\n", i), line)
	}
	require.NoError(t, conn.Close())
	<-upstreamEnded
	<-g.once
	require.Contains(t, g.log.String(), "endpoint=x status=101")
}

// TestUpgradesThatAreNotLetThrough are not asked for: the request is an ordinary one.
func TestUpgradesThatAreNotLetThrough(t *testing.T) {
	for _, c := range []struct {
		allowed []string
		header  string
		asked   string
	}{
		{[]string{"websocket"}, "Upgrade: websocket", "websocket"},
		{[]string{"websocket"}, "Upgrade: WebSocket", "WebSocket"},
		{[]string{"websocket"}, "Upgrade: h2c\r\nHTTP2-Settings: AAAA", ""},
		{[]string{"websocket"}, "Upgrade: tunnel", ""},
		{[]string{"websocket"}, "Upgrade: websocket, h2c", ""},
		{[]string{"websocket"}, "Upgrade: websocket\r\nUpgrade: h2c", ""},
		{nil, "Upgrade: websocket", ""},
		{[]string{"websocket", "tunnel"}, "Upgrade: tunnel", "tunnel"},
	} {
		var got http.Header
		g := behind(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header }, func(cfg *Config) { cfg.Upgrades = c.allowed })
		conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
		require.NoError(t, err)
		fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"+c.header+"\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.Equal(t, 200, res.StatusCode)
		require.Equal(t, c.asked, got.Get("Upgrade"), c.header)
		require.Empty(t, got.Get("HTTP2-Settings"))
		require.NoError(t, conn.Close())
	}

	// An upstream that switches unasked does not get a tunnel.
	g := behind(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tunnel\r\n\r\n")
			_ = conn.Close()
		}
	}, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: tunnel\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.Equal(t, 502, res.StatusCode)
}

// TestTrailersOfRequests are dropped, and not announced either.
func TestTrailersOfRequests(t *testing.T) {
	var announced, came int
	g := behind(t, func(_ http.ResponseWriter, r *http.Request) {
		announced = len(r.Trailer)
		_, _ = io.Copy(io.Discard, r.Body)
		came = len(r.Trailer)
	}, nil)
	r, err := http.NewRequest("POST", g.URL, struct{ io.Reader }{strings.NewReader("body")})
	require.NoError(t, err)
	r.Trailer = http.Header{"X-Sum": {"4"}}
	res, err := g.Client().Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 200, res.StatusCode)
	require.Zero(t, announced)
	require.Zero(t, came)
}

// TestSentOnce: a request with an idempotency key and no body is not sent again when
// its connection breaks, as a transport would by itself.
func TestSentOnce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	posts := make(chan string, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(conn)
			for {
				r, err := http.ReadRequest(in)
				if err != nil {
					break
				}
				if r.Method == "POST" { // carried out, and no answer
					posts <- r.Header.Get("Idempotency-Key")
					break
				}
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}
			_ = conn.Close()
		}
	}()
	g := put(t, "http://"+listener.Addr().String(), nil)
	res, _ := g.send(t, "GET", "/", "", nil) // so that there is a connection to use again
	require.Equal(t, 200, res.StatusCode)
	r, err := http.NewRequest("POST", g.URL, nil)
	require.NoError(t, err)
	r.Header.Set("Idempotency-Key", "k-1")
	res, err = g.Client().Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 502, res.StatusCode)
	require.Equal(t, "k-1", <-posts)
	require.Empty(t, posts)
}

func TestUpstreamOverTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	g := put(t, s.URL, nil)
	res, _ := g.send(t, "GET", "/", "", nil)
	require.Equal(t, 502, res.StatusCode)
	<-g.once
	require.Contains(t, g.log.String(), "certificate signed by unknown authority")
	trusted := put(t, s.URL, func(c *Config) { c.RootCAs = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs })
	res, text := trusted.send(t, "GET", "/", "", nil)
	require.Equal(t, 200, res.StatusCode, text)
}
