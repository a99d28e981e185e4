package checkapi

import "github.com/tickgate/tickgate"

// plain reads a body as nearly every client writes it: members of known names, each
// once, with ASCII without escapes and plain numbers. It costs a tenth of what the JSON
// library does, which is a good part of the whole of a short request.
//
// It says whether it read one request or many, or neither: then the body is for the
// library, which knows all of JSON and what is wrong with it. So plain never refuses,
// and what it takes it reads as the library does (FuzzPlain).
//
// The strings of the requests share the memory of body, of which it makes one copy.
func plain(body []byte, to []tickgate.Request) (reqs []tickgate.Request, is shape) {
	p := text{s: string(body)}
	if !p.is('{') {
		return to, unknown
	}
	if p.word(`"requests"`) {
		return p.many(to)
	}
	q, ok := p.members()
	if !ok || !p.ended() {
		return to, unknown
	}
	return append(to, q), single
}

// shape is what a body was.
type shape int

const (
	unknown shape = iota
	single
	several
)

// text is what is left of a body to be read.
type text struct{ s string }

// many reads on after the name of requests.
func (p *text) many(to []tickgate.Request) ([]tickgate.Request, shape) {
	if !p.is(':') || !p.is('[') {
		return to, unknown
	}
	for {
		if len(to) == MaxRequests || !p.is('{') {
			return to, unknown
		}
		q, ok := p.members()
		if !ok {
			return to, unknown
		}
		to = append(to, q)
		if p.is(',') {
			continue
		}
		if !p.is(']') || !p.is('}') || !p.ended() {
			return to, unknown
		}
		return to, several
	}
}

// members reads the members of a request, and the end of its object.
func (p *text) members() (q tickgate.Request, ok bool) {
	var key, endpoint, n bool // which were there
	for {
		switch {
		case !key && p.word(`"apikey"`):
			q.APIKey, key = p.value()
			ok = key
		case !endpoint && p.word(`"endpoint"`):
			q.Endpoint, endpoint = p.value()
			ok = endpoint
		case !n && p.word(`"n"`):
			q.N, n = p.number()
			ok = n
		default:
			return q, false
		}
		if !ok {
			return q, false
		}
		if p.is(',') {
			continue
		}
		if !n {
			q.N = 1
		}
		return q, p.is('}')
	}
}

// value reads a colon and a string.
func (p *text) value() (string, bool) {
	if !p.is(':') || !p.is('"') {
		return "", false
	}
	for i := range len(p.s) {
		switch c := p.s[i]; {
		case c == '"':
			v := p.s[:i]
			p.s = p.s[i+1:]
			return v, true
		case c == '\\', c < ' ', c > '~':
			return "", false
		}
	}
	return "", false
}

// number reads a colon and a whole number of at most 18 digits, which an int64 holds.
func (p *text) number() (v int64, ok bool) {
	if !p.is(':') {
		return 0, false
	}
	p.space()
	i := 0
	for ; i < len(p.s) && '0' <= p.s[i] && p.s[i] <= '9'; i++ {
		if i == 18 || i == 1 && v == 0 { // or it begins with 0, which JSON has not
			return 0, false
		}
		v = 10*v + int64(p.s[i]-'0')
	}
	p.s = p.s[i:]
	return v, i > 0 // what follows it is looked at next: 1.5 and 1e3 are not plain
}

// is reads c, with space before it, if it is next.
func (p *text) is(c byte) bool {
	p.space()
	if len(p.s) == 0 || p.s[0] != c {
		return false
	}
	p.s = p.s[1:]
	return true
}

// word reads w, with space before it, if it is next.
func (p *text) word(w string) bool {
	p.space()
	if len(p.s) < len(w) || p.s[:len(w)] != w {
		return false
	}
	p.s = p.s[len(w):]
	return true
}

func (p *text) ended() bool {
	p.space()
	return p.s == ""
}

func (p *text) space() {
	for len(p.s) > 0 && (p.s[0] == ' ' || p.s[0] == '\n' || p.s[0] == '\r' || p.s[0] == '\t') {
		p.s = p.s[1:]
	}
}
