//go:build linux

package faults

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// maxMessage is the longest message that is taken for one: a wrong length must not
// take the machine's memory.
const maxMessage = 64 << 20

// maxNest is how deep messages may be nested. Ours are flat.
const maxNest = 16

var errFrame = errors.New("faults: not a message of the Redis protocol")

// readMessage appends the next whole message of r, request or reply of either version
// of the protocol, to buf. Streamed strings and aggregates, which no server sends
// unasked, are errors.
func readMessage(r *bufio.Reader, buf []byte) ([]byte, error) {
	return readNested(r, buf, 0)
}

func readNested(r *bufio.Reader, buf []byte, depth int) ([]byte, error) {
	if depth > maxNest {
		return buf, fmt.Errorf("%w: nested deeper than %d", errFrame, maxNest)
	}
	start := len(buf)
	for {
		part, err := r.ReadSlice('\n')
		buf = append(buf, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) || len(buf)-start > maxMessage {
			return buf, cut(err, len(buf) > start || depth > 0)
		}
	}
	head := buf[start:]
	if len(head) < 3 || head[len(head)-2] != '\r' {
		return buf, fmt.Errorf("%w: begins with %.20q", errFrame, head)
	}
	kind, rest := head[0], head[1:len(head)-2]
	switch kind {
	case '+', '-', ':', '_', ',', '#', '(':
		return buf, nil
	case '$', '!', '=':
		n, err := length(rest)
		if err != nil || n < 0 {
			return buf, err
		}
		at := len(buf)
		buf = append(buf, make([]byte, n+2)...)
		_, err = io.ReadFull(r, buf[at:])
		return buf, cut(err, true)
	case '*', '%', '~', '>', '|':
		n, err := length(rest)
		if err != nil || n < 0 {
			return buf, err
		}
		if kind == '%' || kind == '|' {
			n *= 2
		}
		if kind == '|' {
			n++ // what the attributes are about
		}
		for range n {
			if buf, err = readNested(r, buf, depth+1); err != nil {
				return buf, err
			}
		}
		return buf, nil
	}
	return buf, fmt.Errorf("%w: begins with %.20q", errFrame, head)
}

// cut is the error of a message that ends too early, if it had begun.
func cut(err error, begun bool) error {
	if err == io.EOF && begun {
		return io.ErrUnexpectedEOF
	}
	return err
}

// length is the count that follows the first byte of a message; -1 is null.
func length(b []byte) (int, error) {
	n, err := strconv.Atoi(string(b))
	if err != nil || n < -1 || n > maxMessage {
		return 0, fmt.Errorf("%w: length %.20q", errFrame, b)
	}
	return n, nil
}

// isPush reports whether a reply was not asked for.
func isPush(reply []byte) bool { return len(reply) > 0 && reply[0] == '>' }

// command returns the first word of a request in upper case, "" if it has none.
func command(request []byte) string {
	if len(request) == 0 || request[0] != '*' {
		return ""
	}
	_, rest, _ := bytes.Cut(request, []byte("\r\n"))
	_, rest, _ = bytes.Cut(rest, []byte("\r\n"))
	word, _, ok := bytes.Cut(rest, []byte("\r\n"))
	if !ok {
		return ""
	}
	return string(bytes.ToUpper(word))
}
