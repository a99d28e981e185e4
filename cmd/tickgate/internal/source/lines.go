package source

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errLong is returned by lines.next for a line over MaxLine; the line has been
// passed over and the next call reads the one after it.
var errLong = errors.New("line is longer than 1 MiB")

// lines splits a stream at line ends and bounds what one line may cost.
type lines struct {
	r   *bufio.Reader
	buf []byte // joins a line that did not fit the reader's buffer
	n   int64  // lines started so far: the number of the line last returned
}

// next returns the next line without its end ("\n" or "\r\n"). The bytes are
// valid until the next call. At the end it returns io.EOF.
func (l *lines) next() ([]byte, error) {
	part, more, err := l.r.ReadLine()
	if err != nil {
		return nil, err
	}
	l.n++
	if l.n == 1 {
		part = bytes.TrimPrefix(part, []byte("\xef\xbb\xbf"))
	}
	if !more {
		return part, nil
	}
	l.buf = append(l.buf[:0], part...)
	long := false
	for more {
		part, more, err = l.r.ReadLine()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if long = long || len(l.buf)+len(part) > MaxLine; !long {
			l.buf = append(l.buf, part...)
		}
	}
	if long {
		return nil, errLong
	}
	return l.buf, nil
}
