package httplimit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A reader of Lists of Structured Fields (RFC 9651, section 4.2), of the kinds of
// items that limits are told with: strings with integer parameters. It is written
// from the RFC's algorithms and knows nothing of the code that writes the fields.

type sfItem struct {
	name   string
	params map[string]int64
	order  []string
}

type sfReader struct{ rest string }

var errSF = errors.New("not a list of structured fields")

// readSF reads a field's lines as one list.
func readSF(lines []string) ([]sfItem, error) {
	p := &sfReader{strings.Join(lines, ",")}
	for _, c := range []byte(p.rest) {
		if c > 0x7f {
			return nil, errSF
		}
	}
	p.spaces()
	var list []sfItem
	for p.rest != "" {
		item, err := p.item()
		if err != nil {
			return nil, err
		}
		list = append(list, item)
		p.blanks()
		if p.rest == "" {
			return list, nil
		}
		if !p.take(',') {
			return nil, errSF
		}
		p.blanks()
		if p.rest == "" {
			return nil, errSF // a comma at the end
		}
	}
	return list, nil
}

func (p *sfReader) spaces() { p.rest = strings.TrimLeft(p.rest, " ") }

func (p *sfReader) blanks() { p.rest = strings.TrimLeft(p.rest, " \t") }

func (p *sfReader) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *sfReader) item() (sfItem, error) {
	item := sfItem{params: map[string]int64{}}
	var err error
	if item.name, err = p.text(); err != nil {
		return item, err
	}
	for p.take(';') {
		p.spaces()
		key, err := p.key()
		if err != nil {
			return item, err
		}
		if !p.take('=') {
			return item, errSF // a boolean, which no parameter of ours is
		}
		if item.params[key], err = p.integer(); err != nil {
			return item, err
		}
		item.order = append(item.order, key)
	}
	return item, nil
}

func (p *sfReader) text() (string, error) {
	if !p.take('"') {
		return "", errSF
	}
	var out []byte
	for p.rest != "" {
		c := p.rest[0]
		p.rest = p.rest[1:]
		switch {
		case c == '"':
			return string(out), nil
		case c == '\\':
			if p.rest == "" || p.rest[0] != '"' && p.rest[0] != '\\' {
				return "", errSF
			}
			c, p.rest = p.rest[0], p.rest[1:]
		case c < 0x20 || c > 0x7e:
			return "", errSF
		}
		out = append(out, c)
	}
	return "", errSF
}

func (p *sfReader) key() (string, error) {
	n := 0
	for n < len(p.rest) {
		c := p.rest[n]
		low := c >= 'a' && c <= 'z' || c == '*'
		if !low && (n == 0 || !(c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.')) {
			break
		}
		n++
	}
	key := p.rest[:n]
	p.rest = p.rest[n:]
	if key == "" {
		return "", errSF
	}
	return key, nil
}

func (p *sfReader) integer() (int64, error) {
	negative := p.take('-')
	var v int64
	n := 0
	for n < len(p.rest) && p.rest[n] >= '0' && p.rest[n] <= '9' {
		v = v*10 + int64(p.rest[n]-'0')
		if n++; n > 15 {
			return 0, errSF
		}
	}
	if n == 0 || n < len(p.rest) && p.rest[n] == '.' {
		return 0, errSF
	}
	p.rest = p.rest[n:]
	if negative {
		v = -v
	}
	return v, nil
}

func TestStructuredReaderKnowsRightFromWrong(t *testing.T) {
	list, err := readSF([]string{`"hour";q=100;w=3600, "a \"b\\";q=10; w=1`, `"x"`})
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, map[string]int64{"q": 100, "w": 3600}, list[0].params)
	require.Equal(t, `a "b\`, list[1].name)
	require.Equal(t, "x", list[2].name)
	for _, bad := range []string{
		`hour;q=1`, `"hour`, `"hour";q`, `"hour";Q=1`, `"hour";q=1.5`, `"hour";q=`, `"hour";q=1234567890123456`,
		`"a", `, `"a" "b"`, `"a";;q=1`, `"a\n"`, "\"a\x01\"", `"é"`, `,"a"`, `"a";q="1"`, `"a" ;q=1`,
	} {
		_, err := readSF([]string{bad})
		require.Error(t, err, bad)
	}
}
