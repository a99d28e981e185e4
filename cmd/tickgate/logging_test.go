package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An upstream that sends more than it said makes net/http complain on the default log of
// the process. That is a line of the one log, without what the upstream sent.
func TestLibrariesSpeakInTheLog(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 4096))
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 s3cret\r\nlevel=ERROR\r\n\r\n")
				_, _ = io.Copy(io.Discard, conn)
			}()
		}
	}()
	for _, form := range []string{"json", "text"} {
		s := serve(t, nil, "--upstream", "http://"+listener.Addr().String(), "--set", "default=100/s", "--log", form)
		require.Equal(t, "ok", s.send(t, "GET", "/", "", "X-API-Key", "k").text)
		require.Eventually(t, func() bool {
			return strings.Contains(s.String(), "an upstream sent what no request had asked for")
		}, 10*time.Second, 5*time.Millisecond, "%s", s)
		log.Printf("\x1b[31mred\nlevel=ERROR %s", strings.Repeat("long ", 1000))
		require.NotContains(t, s.String(), "s3cret")
		require.NotContains(t, s.String(), "\x1b")
		require.Contains(t, s.String(), `said by a library`)
		for line := range strings.Lines(s.String()) {
			require.Less(t, len(line), 500)
			if form == "json" {
				require.True(t, json.Valid([]byte(line)), line)
			} else {
				require.True(t, strings.HasPrefix(line, "time="), line)
			}
		}
	}
}
