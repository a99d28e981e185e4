package redistest

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"
)

// doWithin bounds one command of Do, connecting included.
const doWithin = 5 * time.Second

// Do runs one command on a connection of its own and returns its reply:
// string, int64, nil, or []any of these. An error reply is an error with the
// server's text. It is for tests' preparations and looks, and is not fast.
func (s *Server) Do(args ...string) (any, error) {
	conn, err := s.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(doWithin))
	in := bufio.NewReader(conn)
	if p := s.options.Password; p != "" && !s.sentinel {
		if _, err := call(conn, in, "AUTH", p); err != nil {
			return nil, err
		}
	}
	return call(conn, in, args...)
}

// Must is Do for commands that must succeed.
func (s *Server) Must(args ...string) any {
	s.t.Helper()
	v, err := s.Do(args...)
	if err != nil {
		s.t.Fatalf("%s %q: %v", s.Addr(), args, err)
	}
	return v
}

// Text is Must for commands that return a string, "" when it is nil.
func (s *Server) Text(args ...string) string {
	s.t.Helper()
	v, _ := s.Must(args...).(string)
	return v
}

// Map is Must for commands that return names and values in turn, as HGETALL.
func (s *Server) Map(args ...string) map[string]string {
	s.t.Helper()
	list, _ := s.Must(args...).([]any)
	m := make(map[string]string, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		m[fmt.Sprint(list[i])] = fmt.Sprint(list[i+1])
	}
	return m
}

// Keys returns every key of the server, in no order.
func (s *Server) Keys() []string {
	s.t.Helper()
	list, _ := s.Must("KEYS", "*").([]any)
	keys := make([]string, len(list))
	for i := range list {
		keys[i] = fmt.Sprint(list[i])
	}
	return keys
}

// info returns a section of INFO, "" when the server does not answer.
func (s *Server) info(section string) string {
	v, _ := s.Do("INFO", section)
	text, _ := v.(string)
	return text
}

func (s *Server) dial() (net.Conn, error) {
	d := net.Dialer{Timeout: doWithin}
	if !s.options.TLS {
		return d.Dial("tcp", s.Addr())
	}
	roots := x509.NewCertPool()
	data, err := os.ReadFile(s.certs.ca)
	if err != nil {
		return nil, err
	}
	roots.AppendCertsFromPEM(data)
	cert, err := tls.LoadX509KeyPair(s.certs.client, s.certs.clientKey)
	if err != nil {
		return nil, err
	}
	return tls.DialWithDialer(&d, "tcp", s.Addr(), &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}})
}

func call(w io.Writer, in *bufio.Reader, args ...string) (any, error) {
	out := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		out = fmt.Appendf(out, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := w.Write(out); err != nil {
		return nil, err
	}
	return reply(in)
}

func reply(in *bufio.Reader) (any, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 {
		return nil, fmt.Errorf("a reply of %q", line)
	}
	kind, rest := line[0], line[1:len(line)-2]
	if kind == '+' {
		return rest, nil
	}
	if kind == '-' {
		return nil, errors.New(rest)
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("a reply of %q", line)
	}
	switch {
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case kind == '$':
		data := make([]byte, n+2)
		if _, err := io.ReadFull(in, data); err != nil {
			return nil, err
		}
		return string(data[:n]), nil
	case kind == '*':
		list := make([]any, n)
		for i := range list {
			// An error inside a list is kept as its text.
			if list[i], err = reply(in); err != nil {
				list[i] = err.Error()
			}
		}
		return list, nil
	}
	return nil, fmt.Errorf("a reply of %q", line)
}
