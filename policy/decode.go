package policy

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// decoder turns a JSON tree into a set. It goes on after a fault, with the zero
// value in the place of the faulty one, and remembers where everything was, so
// that faults of form and of meaning come out together, in the order of the text.
type decoder struct {
	data   []byte
	offset map[place]int  // where a value starts
	bad    map[place]bool // a fault of form was found: do not judge the value too
	found  []finding
	more   bool // there are faults beyond maxFaults
}

type finding struct {
	at     place
	offset int
	err    *ConfigError // its Field is filled in at the end, when endpoints are known
}

// outside is the policy number of a fault in no policy: the field is the path.
const outside = -1

func (d *decoder) mark(at place, offset int) {
	if d.offset == nil {
		d.offset = make(map[place]int)
	}
	d.offset[at] = offset
}

func (d *decoder) fault(at place, offset int, value, reason string) {
	if d.bad == nil {
		d.bad = make(map[place]bool)
	}
	d.bad[at] = true
	d.add(at, offset, value, reason)
}

func (d *decoder) full() bool { return len(d.found) == maxFaults }

func (d *decoder) add(at place, offset int, value, reason string) {
	if d.full() {
		d.more = true
		return
	}
	d.found = append(d.found, finding{at, offset, &ConfigError{Value: value, Reason: reason}})
}

// check takes a fault of meaning, unless form was at fault at the same place or
// around it.
func (d *decoder) check(at place, value, reason string) {
	if d.full() {
		d.more = true
		return
	}
	around := [...]place{at, {at.policy, at.limit, ""}, {at.policy, -1, "limits"}, {at.policy, -1, ""}}
	if at.limit < 0 {
		around[2] = at // the limits of a policy are not around its other fields
	}
	for _, p := range around {
		if d.bad[p] {
			return
		}
	}
	offset := 0
	for _, p := range around {
		if o, ok := d.offset[p]; ok {
			offset = o
			break
		}
	}
	d.add(at, offset, value, reason)
}

// err returns everything found, in the order of the text, with the paths that
// path makes of places.
func (d *decoder) err(path func(place) string) error {
	slices.SortStableFunc(d.found, func(a, b finding) int { return a.offset - b.offset })
	r := report{more: d.more}
	for _, f := range d.found {
		if f.err.Field = f.at.field; f.at.policy != outside {
			f.err.Field = path(f.at)
		}
		r.list = append(r.list, located(d.data, f.offset, f.err))
	}
	return r.err()
}

func (d *decoder) raw(n node) string { return string(d.data[n.start:n.end]) }

func (d *decoder) set(n node) Set {
	list := place{outside, -1, "policies"}
	if n.kind == '{' {
		inner := node{kind: '[', start: n.start, end: n.end}
		d.members(place{outside, -1, ""}, n, "policies", func(_ place, v node) { inner = v })
		n = inner
	}
	if n.kind != '[' {
		d.fault(list, n.start, d.raw(n), "must be an array of policies")
		return nil
	}
	// Read by mistake, a set without policies would deny everything.
	if len(n.items) == 0 {
		d.fault(list, n.start, d.raw(n),
			`must hold at least one policy, such as {"endpoint": "default", "limits": ["50/s"]}`)
		return nil
	}
	s := make(Set, len(n.items))
	for i, item := range n.items {
		if d.full() {
			d.more = true
			break
		}
		s[i] = d.policy(i, item)
	}
	return s
}

func (d *decoder) policy(i int, n node) (p Policy) {
	whole := place{i, -1, ""}
	d.mark(whole, n.start)
	if n.kind != '{' {
		d.fault(whole, n.start, d.raw(n), "must be an object with the keys endpoint, limits, credit, shadow")
		return p
	}
	d.members(whole, n, "endpoint, limits, credit, shadow", func(at place, v node) {
		switch at.field {
		case "endpoint":
			p.Endpoint = d.text(at, v, `must be a string such as "order.new"`)
		case "limits":
			if v.kind != '[' {
				d.fault(at, v.start, d.raw(v), `must be an array of limits, as in ["100/s"]`)
				return
			}
			p.Limits = make([]Limit, len(v.items))
			for j, item := range v.items {
				p.Limits[j] = d.limit(i, j, item)
			}
		case "credit":
			p.Credit = d.whole(at, v)
		case "shadow":
			if p.Shadow = v.kind == 't'; v.kind != 't' && v.kind != 'f' {
				d.fault(at, v.start, d.raw(v), "must be true or false")
			}
		}
	})
	return p
}

func (d *decoder) limit(i, j int, n node) (l Limit) {
	whole := place{i, j, ""}
	d.mark(whole, n.start)
	if n.kind == '"' {
		l, err := parseLimit("", n.text)
		var fault *ConfigError
		if errors.As(err, &fault) {
			d.fault(whole, n.start, n.text, fault.Reason)
		}
		return l
	}
	const keys = "name, tokens, per, burst, reserve, window, skew"
	if n.kind != '{' {
		d.fault(whole, n.start, d.raw(n), `must be a string such as "100/s burst=20", or an object with the keys `+keys)
		return l
	}
	d.members(whole, n, keys, func(at place, v node) {
		switch at.field {
		case "name":
			l.Name = d.text(at, v, "must be a string")
		case "tokens":
			l.Tokens = d.whole(at, v)
		case "burst":
			l.Burst = d.whole(at, v)
		case "per":
			l.Per = d.period(at, v)
		case "reserve":
			l.Reserve = d.whole(at, v)
		case "skew":
			l.Skew = d.period(at, v)
		case "window":
			w, ok := windowNamed(v.text)
			if v.kind != '"' || !ok {
				d.fault(at, v.start, d.shown(v), "not a window; "+windowForms)
			}
			l.Window = w
		}
	})
	return l
}

// members calls set for each key of an object that is in keys, once.
func (d *decoder) members(whole place, n node, keys string, set func(place, node)) {
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		at := place{whole.policy, whole.limit, m.key}
		switch {
		case seen[m.key]:
			d.fault(at, m.start, d.raw(m.value), "key given twice")
		case !slices.Contains(strings.Split(keys, ", "), m.key):
			at.field = keyName(m.key)
			d.fault(at, m.start, d.raw(m.value), "unknown key; the keys are "+keys)
		default:
			d.mark(at, m.value.start)
			set(at, m.value)
		}
		seen[m.key] = true
	}
}

func (d *decoder) text(at place, v node, reason string) string {
	if v.kind != '"' {
		d.fault(at, v.start, d.raw(v), reason)
		return ""
	}
	return v.text
}

// whole reads a whole number. A negative one is of good form: its meaning is
// judged with everything else.
func (d *decoder) whole(at place, v node) int64 {
	if v.kind == '0' {
		if n, err := strconv.ParseInt(v.text, 10, 64); err == nil {
			return n
		}
		literal := strings.Replace(strings.ToLower(v.text), "e+", "e", 1)
		n, reason := wholeNumber(literal)
		if reason == "" {
			return n
		}
		d.fault(at, v.start, v.text, reason)
		return 0
	}
	d.fault(at, v.start, d.shown(v), "must be a whole number, without quotes")
	return 0
}

func (d *decoder) period(at place, v node) time.Duration {
	const form = `; write [k]unit, as in "s", "10s" or "1h"`
	if v.kind != '"' {
		d.fault(at, v.start, d.raw(v), "must be a string"+form)
		return 0
	}
	per, reason := readPeriod(strings.Trim(v.text, blanks))
	if reason != "" {
		d.fault(at, v.start, v.text, reason+form)
	}
	return per
}

// shown is what an error shows of a value: a string without its quotes.
func (d *decoder) shown(v node) string {
	if v.kind == '"' {
		return v.text
	}
	return d.raw(v)
}

// keyName prints a key of a JSON object in a path: bare if it is a short plain
// word, quoted otherwise.
func keyName(key string) string {
	plain := key != "" && len(key) <= maxShown
	for i := 0; i < len(key); i++ {
		c := key[i]
		plain = plain && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_')
	}
	if plain {
		return key
	}
	return show(key)
}
