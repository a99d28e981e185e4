package source

import (
	"bytes"
	"errors"
	"fmt"
)

// csvParser reads "ts_ns,apikey,endpoint,cost". The cost is 1 where it is left
// out. A header is optional; with one, its names say which column is which, in
// any order, and columns of other names are passed over. Fields may be quoted
// as in RFC 4180, but a field cannot run over a line end.
type csvParser struct {
	names   Names
	started bool
	cols    [4]int // column of ts_ns, apikey, endpoint, cost; -1 where absent
	width   int    // columns in the header, 0 without a header
	fields  [][]byte
	scratch []byte
}

var csvColumns = [4]string{"ts_ns", "apikey", "endpoint", "cost"}

func newCSV(names Names) *csvParser {
	return &csvParser{names: names, cols: [4]int{0, 1, 2, 3}}
}

func (p *csvParser) parse(line []byte, rec *Record) error {
	if err := p.split(line); err != nil {
		return err
	}
	if !p.started {
		p.started = true
		if p.header() {
			return errSkip
		}
	}
	if p.width == 0 && (len(p.fields) < 3 || len(p.fields) > 4) {
		return fmt.Errorf("%d fields, expected ts_ns,apikey,endpoint and an optional cost", len(p.fields))
	}
	if p.width > 0 && len(p.fields) > p.width {
		return fmt.Errorf("%d fields under a header of %d", len(p.fields), p.width)
	}
	at, ok := p.field(0)
	if !ok {
		return errors.New("ts_ns is missing")
	}
	ts, ok := parseInt(at)
	switch {
	case !ok:
		return fmt.Errorf("ts_ns %s is not a whole number of nanoseconds", excerpt(at))
	case ts < 0:
		return fmt.Errorf("ts_ns %d is negative", ts)
	case ts > MaxAt:
		return fmt.Errorf("ts_ns %d is after the year 2116: is it in nanoseconds?", ts)
	}
	key, _ := p.field(1)
	if err := checkName("apikey", key); err != nil {
		return err
	}
	endpoint, _ := p.field(2)
	if err := checkName("endpoint", endpoint); err != nil {
		return err
	}
	cost := int64(1)
	if b, ok := p.field(3); ok && len(b) > 0 {
		if cost, ok = parseInt(b); !ok {
			return fmt.Errorf("cost %s is not a whole number", excerpt(b))
		}
		if cost < 0 {
			return fmt.Errorf("cost %d is negative", cost)
		}
	}
	*rec = Record{At: ts, Key: p.names.of(key), Endpoint: p.names.of(endpoint), Cost: cost}
	return nil
}

// field returns the trimmed field of one of csvColumns.
func (p *csvParser) field(column int) ([]byte, bool) {
	i := p.cols[column]
	if i < 0 || i >= len(p.fields) {
		return nil, false
	}
	return bytes.TrimSpace(p.fields[i]), true
}

// header takes the fields as column names if the three required ones are among
// them, each named once.
func (p *csvParser) header() bool {
	cols := [4]int{-1, -1, -1, -1}
	for i, f := range p.fields {
		name := bytes.ToLower(bytes.TrimSpace(f))
		for c, want := range csvColumns {
			if string(name) != want {
				continue
			}
			if cols[c] >= 0 {
				return false
			}
			cols[c] = i
		}
	}
	if cols[0] < 0 || cols[1] < 0 || cols[2] < 0 {
		return false
	}
	p.cols, p.width = cols, len(p.fields)
	return true
}

// split cuts line into p.fields. A line without a quote is cut in place.
func (p *csvParser) split(line []byte) error {
	p.fields = p.fields[:0]
	if bytes.IndexByte(line, '"') < 0 {
		for {
			i := bytes.IndexByte(line, ',')
			if i < 0 {
				p.fields = append(p.fields, line)
				return nil
			}
			p.fields = append(p.fields, line[:i])
			line = line[i+1:]
		}
	}
	// Unquoting only shortens, so scratch of the line's length never moves and
	// the fields cut from it stay valid.
	if cap(p.scratch) < len(line) {
		p.scratch = make([]byte, 0, 2*len(line))
	}
	out := p.scratch[:0]
	for i := 0; ; {
		start := len(out)
		if i < len(line) && line[i] == '"' {
			i++
			for {
				if i >= len(line) {
					return errors.New("a quoted field does not end on its line")
				}
				if line[i] == '"' {
					if i+1 >= len(line) || line[i+1] != '"' {
						i++
						break
					}
					i++
				}
				out = append(out, line[i])
				i++
			}
			if i < len(line) && line[i] != ',' {
				return errors.New("text after the closing quote of a field")
			}
		} else {
			for i < len(line) && line[i] != ',' {
				if line[i] == '"' {
					return errors.New("a quote inside a field that does not start with one")
				}
				out = append(out, line[i])
				i++
			}
		}
		p.fields = append(p.fields, out[start:])
		if i >= len(line) {
			return nil
		}
		i++ // the comma
	}
}
