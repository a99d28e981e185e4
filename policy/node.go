package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// node is one JSON value with its place. encoding/json alone would accept keys in
// any case and keys given twice, stop at the first fault, and say of a wrong value
// neither line nor column.
type node struct {
	start, end int    // bytes in the text
	kind       byte   // '{', '[', '"', '0' for a number, 't' true, 'f' false, 'n' null
	text       string // of a string, or the literal of a number
	members    []member
	items      []node
}

type member struct {
	start int // of the key
	key   string
	value node
}

// maxDepth is above what a set needs (object, array, policy, array, limit).
const maxDepth = 8

// parseTree reads the one JSON value that data holds.
func parseTree(data []byte) (node, error) {
	if !utf8.Valid(data) {
		bad := 0
		for {
			r, size := utf8.DecodeRune(data[bad:])
			if r == utf8.RuneError && size == 1 {
				return node{}, located(data, bad, errors.New("not UTF-8 text"))
			}
			bad += size
		}
	}
	if len(bytes.Trim(data, blanks)) == 0 {
		return node{}, errors.New("the text is empty; write a JSON array of policies")
	}
	// The whole text is checked first, also for what follows the value, so that
	// the walk below meets no fault of syntax.
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at := int(syntax.Offset) - 1 // the offset counts the byte at fault
			if strings.HasPrefix(err.Error(), "unexpected end") {
				at = len(data)
			}
			return node{}, located(data, at, err)
		}
		return node{}, err
	}
	t := tree{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	t.dec.UseNumber()
	return t.value(1)
}

type tree struct {
	data []byte
	dec  *json.Decoder
}

// token returns the next token and where it starts.
func (t *tree) token() (json.Token, int, error) {
	start := int(t.dec.InputOffset())
	for start < len(t.data) && bytes.IndexByte([]byte(blanks+",:"), t.data[start]) >= 0 {
		start++
	}
	tok, err := t.dec.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, start, located(t.data, start, err)
	}
	return tok, start, nil
}

func (t *tree) value(depth int) (node, error) {
	tok, start, err := t.token()
	if err != nil {
		return node{}, err
	}
	n := node{start: start}
	switch v := tok.(type) {
	case json.Delim:
		if depth > maxDepth {
			return node{}, located(t.data, start, errors.New("nested too deep for a set of policies"))
		}
		n.kind = byte(v)
		for t.dec.More() {
			var m member
			if n.kind == '{' {
				key, at, err := t.token()
				if err != nil {
					return node{}, err
				}
				m.key, m.start = key.(string), at
			}
			if m.value, err = t.value(depth + 1); err != nil {
				return node{}, err
			}
			if n.kind == '{' {
				n.members = append(n.members, m)
			} else {
				n.items = append(n.items, m.value)
			}
		}
		if _, _, err := t.token(); err != nil { // the closing bracket
			return node{}, err
		}
	case string:
		n.kind, n.text = '"', v
	case json.Number:
		n.kind, n.text = '0', v.String()
	case bool:
		n.kind = 'f'
		if v {
			n.kind = 't'
		}
	case nil:
		n.kind = 'n'
	default:
		return node{}, located(t.data, start, fmt.Errorf("unexpected %v", tok))
	}
	n.end = int(t.dec.InputOffset())
	return n, nil
}

// located gives err the line and column of an offset in data.
func located(data []byte, offset int, err error) error {
	before := data[:min(max(offset, 0), len(data))]
	return &ParseError{
		Line:   1 + bytes.Count(before, []byte{'\n'}),
		Column: len(before) - bytes.LastIndexByte(before, '\n'),
		Err:    err,
	}
}
