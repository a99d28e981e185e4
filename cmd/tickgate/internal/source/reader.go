package source

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// Options say how to read an input. The zero value detects the format.
type Options struct {
	Format     Format // Auto and "" detect
	LobsterKey string // key of every LOBSTER record; "" takes the file name's prefix
	Names      Names  // shared between inputs; nil starts an empty one
}

// Counts says what an input held so far.
type Counts struct {
	Lines     int64 // read, blank ones and a header included
	Requests  int64 // records returned
	Skipped   int64 // well-formed lines that are no request
	Malformed int64 // lines reported as a LineError
}

// Reader reads the records of one input. Not safe for concurrent use.
type Reader struct {
	name   string
	format Format
	lines  lines
	parser parser
	counts Counts
	raw    *countingReader
	close  []io.Closer
}

// Stdin is the file name that stands for standard input.
const Stdin = "-"

// Open opens a file, or stdin for "-", and finds its format. Gzip is
// recognised by its first bytes, whatever the name. The error is one line that
// names the file.
func Open(file string, stdin io.Reader, opt Options) (*Reader, error) {
	if file == Stdin {
		return newReader("stdin", "", io.NopCloser(stdin), opt)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, fmt.Errorf("%s: is a directory, expected a file", file)
	}
	return newReader(file, file, f, opt)
}

func newReader(name, path string, in io.ReadCloser, opt Options) (r *Reader, err error) {
	r = &Reader{name: name, raw: &countingReader{r: in}, close: []io.Closer{in}}
	defer func() {
		if err != nil {
			r.Close()
			r, err = nil, fmt.Errorf("%s: %w", name, err)
		}
	}()
	text := bufio.NewReaderSize(r.raw, probeBytes)
	if magic, _ := text.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(text)
		if err != nil {
			return r, err
		}
		r.close = append(r.close, z)
		text = bufio.NewReaderSize(z, probeBytes)
	}
	head, err := text.Peek(probeBytes)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return r, err // behind some text it comes again when that is read
	}
	if err := r.choose(head, err != nil, path, opt); err != nil {
		return r, err
	}
	r.lines.r = text
	return r, nil
}

// choose sets the format and its parser.
func (r *Reader) choose(head []byte, whole bool, path string, opt Options) error {
	found, err := detect(head, whole)
	if opt.Format == "" || opt.Format == Auto {
		if err != nil {
			return err
		}
		r.format = found
	} else {
		if errors.Is(err, errBinary) || errors.Is(err, ErrEmpty) {
			return err
		}
		r.format = opt.Format
	}
	names := opt.Names
	if names == nil {
		names = Names{}
	}
	switch r.format {
	case CSV:
		r.parser = newCSV(names)
	case Combined:
		r.parser = &combinedParser{names: names}
	case Lobster:
		r.parser = newLobster(path, opt.LobsterKey)
	default:
		return fmt.Errorf("unknown format %q", r.format)
	}
	return nil
}

// Next reads the next record into rec. At the end it returns io.EOF. A
// *LineError reports one malformed line; the next call goes on after it. Any
// other error is final and names the input.
func (r *Reader) Next(rec *Record) error {
	for {
		line, err := r.lines.next()
		r.counts.Lines = r.lines.n
		switch {
		case errors.Is(err, io.EOF):
			return io.EOF
		case errors.Is(err, errLong):
			return r.malformed(err)
		case err != nil:
			return fmt.Errorf("%s: after line %d: %w", r.name, r.lines.n, err)
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		switch err := r.parser.parse(line, rec); {
		case err == nil:
			r.counts.Requests++
			return nil
		case !errors.Is(err, errSkip):
			return r.malformed(err)
		case r.format != CSV: // in CSV it was the header
			r.counts.Skipped++
		}
	}
}

func (r *Reader) malformed(reason error) error {
	r.counts.Malformed++
	return &LineError{File: r.name, Line: r.lines.n, Reason: reason.Error()}
}

// Name returns the input's name as used in messages.
func (r *Reader) Name() string { return r.name }

// Format returns the format found or given.
func (r *Reader) Format() Format { return r.format }

// Counts returns what was read so far.
func (r *Reader) Counts() Counts { return r.counts }

// BytesRead returns how many bytes of the input itself (compressed, where it
// is) were read: a measure of progress.
func (r *Reader) BytesRead() int64 { return r.raw.n }

// Close closes the input.
func (r *Reader) Close() error {
	var errs []error
	for i := len(r.close) - 1; i >= 0; i-- {
		errs = append(errs, r.close[i].Close())
	}
	r.close = nil
	return errors.Join(errs...)
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
