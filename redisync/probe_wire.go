package redisync

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// wire speaks to a server before the client does, to tell what is there: a peer that
// is no Redis must not reach the client, which takes what it reads for replies.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
}

func newWire(ctx context.Context, conn net.Conn) *wire {
	if end, ok := ctx.Deadline(); ok {
		conn.SetDeadline(end)
	} else {
		conn.SetDeadline(time.Now().Add(probeTimeout))
	}
	return &wire{conn, bufio.NewReader(conn)}
}

// said is an error reply, with the server's words.
type said string

func (s said) Error() string { return string(s) }

// alien are the first bytes of a peer that does not speak the protocol.
type alien string

func (a alien) Error() string { return fmt.Sprintf("it speaks another protocol: %q", string(a)) }

// do runs one command. A reply is a string, int64, nil or []any of these.
func (w *wire) do(args ...string) (any, error) {
	out := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		out = fmt.Appendf(out, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := w.conn.Write(out); err != nil {
		return nil, err
	}
	return w.reply(0)
}

func (w *wire) reply(depth int) (any, error) {
	kind, err := w.in.ReadByte()
	if err != nil {
		return nil, err
	}
	w.in.UnreadByte()
	line, err := w.in.ReadSlice('\n')
	if kind != '+' && kind != '-' && kind != ':' && kind != '$' && kind != '*' || depth > 8 || errors.Is(err, bufio.ErrBufferFull) {
		if len(line) > 16 {
			line = line[:16]
		}
		if len(line) == 0 {
			line = []byte{kind}
		}
		return nil, alien(line)
	}
	if err != nil {
		return nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return nil, alien(line)
	}
	text := string(line[1 : len(line)-2])
	switch kind {
	case '+':
		return text, nil
	case '-':
		return nil, said(text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > 1<<20 && kind != ':' {
		return nil, alien(line)
	}
	switch {
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case kind == '$':
		data := make([]byte, n+2)
		if _, err := io.ReadFull(w.in, data); err != nil {
			return nil, err
		}
		return string(data[:n]), nil
	}
	list := make([]any, n)
	for i := range list {
		if list[i], err = w.reply(depth + 1); err != nil {
			return nil, err
		}
	}
	return list, nil
}
