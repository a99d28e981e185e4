package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBodyThatDoesNotCome: reading it ends, in time.
func TestBodyThatDoesNotCome(t *testing.T) {
	failed := make(chan error, 1)
	s := start(t, func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		failed <- err
	}, func(c *Config) { c.ReadTimeout = 30 * time.Millisecond })
	s.dial(t, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe")
	require.ErrorIs(t, <-failed, os.ErrDeadlineExceeded)
}

func TestHeaderThatDoesNotCome(t *testing.T) {
	s := start(t, func(http.ResponseWriter, *http.Request) {}, func(c *Config) { c.ReadTimeout = 30 * time.Millisecond })
	_, in := s.dial(t, "GET / HTTP/1.1\r\n")
	_, err := in.ReadByte()
	require.Equal(t, io.EOF, err)
}

// TestAnswerAfterTheBodysTime: a request whose body came in time is not cancelled when
// its time is over while the answer is made, nor is one without a body.
func TestAnswerAfterTheBodysTime(t *testing.T) {
	const most = 30 * time.Millisecond
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		late := time.NewTimer(4 * most)
		defer late.Stop()
		select {
		case <-r.Context().Done():
			fmt.Fprint(w, "cancelled")
		case <-late.C:
			fmt.Fprint(w, "whole")
		}
	}, func(c *Config) { c.ReadTimeout, c.WriteTimeout = most, most })
	conn, in := s.dial(t, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
	_, text := answer(t, in)
	require.Equal(t, "whole", text)
	_, err := io.WriteString(conn, get) // on the same connection, whose deadlines are old
	require.NoError(t, err)
	_, text = answer(t, in)
	require.Equal(t, "whole", text)
}

// TestClientThatDoesNotRead is let go.
func TestClientThatDoesNotRead(t *testing.T) {
	failed := make(chan error, 1)
	s := start(t, func(w http.ResponseWriter, _ *http.Request) {
		part := []byte(strings.Repeat("x", 1<<20))
		for {
			if _, err := w.Write(part); err != nil {
				failed <- err
				return
			}
		}
	}, func(c *Config) { c.WriteTimeout = 30 * time.Millisecond })
	s.dial(t, get)
	var timeout net.Error
	err := <-failed
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout())
}

// TestAnswerThatPauses: its time does not run while the handler does not write.
func TestAnswerThatPauses(t *testing.T) {
	const most = 30 * time.Millisecond
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		for part := range 3 {
			fmt.Fprint(w, part)
			late := time.NewTimer(3 * most)
			select {
			case <-r.Context().Done():
			case <-late.C:
			}
			late.Stop()
			if part == 0 {
				_ = http.NewResponseController(w).Flush()
			}
		}
	}, func(c *Config) { c.WriteTimeout = most })
	conn, in := s.dial(t, get)
	for range 2 { // on the same connection
		_, text := answer(t, in)
		require.Equal(t, "012", text)
		_, err := io.WriteString(conn, get)
		require.NoError(t, err)
	}
}

// TestAnswerThatPausesOverHTTP2: an old deadline does not end the stream.
func TestAnswerThatPausesOverHTTP2(t *testing.T) {
	const most = 50 * time.Millisecond
	other := httptest.NewUnstartedServer(nil)
	other.EnableHTTP2 = true
	other.StartTLS() // for its certificate, and a client that trusts it
	defer other.Close()
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		for part := range 4 {
			fmt.Fprint(w, part)
			if part%2 == 0 {
				_ = http.NewResponseController(w).Flush()
			}
			late := time.NewTimer(3 * most)
			select {
			case <-r.Context().Done():
			case <-late.C:
			}
			late.Stop()
		}
	}, func(c *Config) { c.WriteTimeout, c.TLS = most, other.TLS })
	res, err := other.Client().Get("https://" + s.address)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, 2, res.ProtoMajor)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "0123", string(text))
}

// TestClientThatDoesNotReadOverHTTP2 is let go all the same.
func TestClientThatDoesNotReadOverHTTP2(t *testing.T) {
	other := httptest.NewUnstartedServer(nil)
	other.EnableHTTP2 = true
	other.StartTLS()
	defer other.Close()
	failed := make(chan error, 1)
	s := start(t, func(w http.ResponseWriter, _ *http.Request) {
		part := []byte(strings.Repeat("x", 1<<20))
		for {
			if _, err := w.Write(part); err != nil {
				failed <- err
				return
			}
		}
	}, func(c *Config) { c.WriteTimeout, c.TLS = 50*time.Millisecond, other.TLS })
	res, err := other.Client().Get("https://" + s.address)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Error(t, <-failed)
}
