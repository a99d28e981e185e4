package source

import (
	"bytes"
	"errors"
	"fmt"
	"time"
)

// combinedParser reads the access logs of Apache and nginx, combined or common:
//
//	192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /blog/a?x=1 HTTP/1.1" 200 512 "-" "agent"
//
// The client address is the key. The endpoint is the method and the first
// segment of the path ("GET /blog"): the whole path would make a key of every
// page. The log's times are whole seconds. A line whose request is "-" (the
// client sent none before the server gave up) is no request.
type combinedParser struct {
	names   Names
	scratch []byte
	// Most lines repeat the time of the line before: the last text and what it
	// meant. Invariant: lastAt is the time of lastText, if that is not empty.
	lastText []byte
	lastAt   int64
}

const combinedTime = "02/Jan/2006:15:04:05 -0700"

func (p *combinedParser) parse(line []byte, rec *Record) error {
	space := bytes.IndexByte(line, ' ')
	if space < 0 {
		return errors.New("not an access log line: no space after the client address")
	}
	key, rest := line[:space], line[space:]
	if err := checkName("client address", key); err != nil {
		return err
	}
	stamp, rest, ok := cutTime(rest)
	if !ok {
		return errors.New("no time like [17/May/2015:10:05:03 +0000]")
	}
	at, err := p.time(stamp)
	if err != nil {
		return err
	}
	request, rest, ok := cutQuoted(rest)
	if !ok {
		return errors.New("no quoted request after the time")
	}
	if !statusFollows(rest) {
		return errors.New("no status of three digits after the request")
	}
	if string(request) == "-" {
		return errSkip
	}
	if err := p.endpoint(request); err != nil {
		return err
	}
	*rec = Record{At: at, Key: p.names.of(key), Endpoint: p.names.of(p.scratch), Cost: 1}
	return nil
}

// cutTime finds the first "[time]" and returns what is inside and after it.
// A user name may hold brackets, hence the check of both ends.
func cutTime(b []byte) (stamp, rest []byte, ok bool) {
	const n = len(combinedTime)
	for {
		i := bytes.Index(b, []byte(" ["))
		if i < 0 || len(b) < i+2+n+1 {
			return nil, nil, false
		}
		b = b[i+2:]
		if b[n] == ']' {
			return b[:n], b[n+1:], true
		}
	}
}

// cutQuoted returns the text in the quotes that follow one space. A backslash
// protects the byte after it.
func cutQuoted(b []byte) (text, rest []byte, ok bool) {
	if len(b) < 2 || b[0] != ' ' || b[1] != '"' {
		return nil, nil, false
	}
	b = b[2:]
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return b[:i], b[i+1:], true
		}
	}
	return nil, nil, false
}

func statusFollows(b []byte) bool {
	if len(b) < 4 || b[0] != ' ' || (len(b) > 4 && b[4] != ' ') {
		return false
	}
	for _, c := range b[1:4] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func (p *combinedParser) time(text []byte) (int64, error) {
	if bytes.Equal(text, p.lastText) {
		return p.lastAt, nil
	}
	t, err := time.Parse(combinedTime, string(text))
	if err != nil {
		return 0, fmt.Errorf("time %s is not like 17/May/2015:10:05:03 +0000", excerpt(text))
	}
	if sec := t.Unix(); sec < 0 || sec > MaxAt/1e9 {
		return 0, fmt.Errorf("time %s is not between 1970 and 2116", excerpt(text))
	}
	p.lastText, p.lastAt = append(p.lastText[:0], text...), t.UnixNano()
	return p.lastAt, nil
}

// endpoint leaves "METHOD /segment" of a request line in p.scratch.
func (p *combinedParser) endpoint(request []byte) error {
	method, target, ok := bytes.Cut(request, []byte(" "))
	if !ok || !isMethod(method) {
		return fmt.Errorf("request %s is not a method and a path", excerpt(request))
	}
	target, _, _ = bytes.Cut(target, []byte(" ")) // the protocol, absent in HTTP/0.9
	if i := bytes.Index(target, []byte("://")); i > 0 && target[0] != '/' {
		// A proxy's absolute form: drop scheme and host.
		target = target[i+3:]
		if j := bytes.IndexAny(target, "/?#"); j >= 0 {
			target = target[j:]
		} else {
			target = nil
		}
	}
	if i := bytes.IndexAny(target, "?#"); i >= 0 {
		target = target[:i]
	}
	switch {
	case len(target) == 0:
		target = []byte("/")
	case target[0] == '/':
		if i := bytes.IndexByte(target[1:], '/'); i >= 0 {
			target = target[:1+i]
		}
		if len(target) == 0 {
			target = []byte("/")
		}
	}
	p.scratch = append(append(append(p.scratch[:0], method...), ' '), target...)
	return checkName("endpoint", p.scratch)
}

func isMethod(b []byte) bool {
	if len(b) == 0 || len(b) > 20 {
		return false
	}
	for _, c := range b {
		if (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
