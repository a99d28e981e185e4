package idem

import (
	"encoding/binary"
	"errors"
)

// Result is what a call answered, to be given to its retries.
type Result struct {
	Status int
	Header [][2]string // names and values, in order; a name may come again
	Body   []byte
}

// encodingV1 is the first byte of an encoded Result.
//
//	1 | status: varint | pairs: uvarint | name, value for each: uvarint length, bytes | body
const encodingV1 = 1

var errEncoding = errors.New("idem: a stored result cannot be read: it is damaged or of a newer version")

// encode returns r in one block of its own.
func (r *Result) encode() []byte {
	var head [1 + 2*binary.MaxVarintLen64]byte
	n := len(binary.AppendUvarint(binary.AppendVarint(head[:1], int64(r.Status)), uint64(len(r.Header)))) + len(r.Body)
	for _, h := range r.Header {
		for _, s := range h {
			n += len(binary.AppendUvarint(head[:0], uint64(len(s)))) + len(s)
		}
	}
	b := append(make([]byte, 0, n), encodingV1) // exactly n: what it is reckoned at
	b = binary.AppendVarint(b, int64(r.Status))
	b = binary.AppendUvarint(b, uint64(len(r.Header)))
	for _, h := range r.Header {
		for _, s := range h {
			b = binary.AppendUvarint(b, uint64(len(s)))
			b = append(b, s...)
		}
	}
	return append(b, r.Body...)
}

// decodeResult returns the Result that b encodes. It shares no memory with b.
func decodeResult(b []byte) (Result, error) {
	if len(b) == 0 || b[0] != encodingV1 {
		return Result{}, errEncoding
	}
	d := decoder{rest: b[1:]}
	r := Result{Status: int(d.varint())}
	// A pair takes two bytes at least, which bounds what damaged input can make
	// this allocate.
	if pairs := d.uvarint(); pairs > uint64(len(d.rest)/2) {
		d.bad = true
	} else if pairs > 0 {
		r.Header = make([][2]string, pairs)
		for i := range r.Header {
			r.Header[i] = [2]string{d.text(), d.text()}
		}
	}
	if d.bad {
		return Result{}, errEncoding
	}
	if len(d.rest) > 0 {
		r.Body = append([]byte(nil), d.rest...)
	}
	return r, nil
}

// decoder takes values off a block; bad once there was one it could not take.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	d.skip(n)
	return v
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	d.skip(n)
	return v
}

func (d *decoder) skip(n int) {
	if n <= 0 {
		d.bad, d.rest = true, nil
		return
	}
	d.rest = d.rest[n:]
}

func (d *decoder) text() string {
	n := d.uvarint()
	if n > uint64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}
