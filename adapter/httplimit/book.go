package httplimit

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

// book is what callers are told of the policies in force, written once and not for
// every request.
type book struct {
	gate    *tickgate.Gate
	current atomic.Pointer[edition]
}

// edition is the book as of one set of policies. It is not changed.
type edition struct {
	mark  tickgate.Endpoint // compares equal until the policies are replaced
	pages map[string]*page  // by the endpoint of the policy
	other *page             // of endpoints that no policy names
}

// page is one policy.
type page struct {
	endpoint string // "" on the page of other endpoints
	header   string // the field RateLimit-Policy; "" if there is no limit
	lines    []line
}

// line is one limit.
type line struct {
	limit   policy.Limit
	label   string
	quoted  string // the label as a string of a structured field
	quota   int64
	reason  string // "100 requests/hour for POST /memory/ingest"; of other endpoints without the "for"
	problem []byte // the beginning of the body of a denial; nil on the page of other endpoints
}

// page returns what is to be told of an endpoint. An endpoint resolved by the gate
// changes when its policies are replaced, so comparing two tells whether the edition
// is out of date. No policy is for the empty name, which is the cheapest to look up.
func (b *book) page(endpoint string) *page {
	e := b.current.Load()
	if mark := b.gate.Endpoint(""); e == nil || e.mark != mark {
		// The mark is older than the set, so a change in between is seen next time.
		e = newEdition(mark, b.gate.Policies())
		b.current.Store(e)
	}
	if p := e.pages[endpoint]; p != nil {
		return p
	}
	return e.other
}

func newEdition(mark tickgate.Endpoint, set policy.Set) *edition {
	e := &edition{mark: mark, pages: make(map[string]*page, len(set)), other: &page{}}
	for _, p := range set {
		e.pages[p.Endpoint] = newPage(p, p.Endpoint)
		if p.Endpoint == policy.DefaultEndpoint {
			e.other = newPage(p, "")
		}
	}
	return e
}

func newPage(p policy.Policy, endpoint string) *page {
	out := &page{endpoint: endpoint}
	var items []string
	for _, l := range p.Limits {
		if l.Window == policy.Unlimited {
			continue
		}
		n := line{limit: l, label: l.Label(), quoted: quoted(l), quota: quota(&l), reason: rateInWords(l)}
		if endpoint != "" {
			n.reason += " for " + endpoint
			n.problem = denialHead(nil, &n, n.reason)
		}
		out.lines = append(out.lines, n)
		items = append(items, policyItem(l))
	}
	out.header = strings.Join(items, ", ")
	return out
}

// line returns the limit of a name, nil if there is none.
func (p *page) line(label string) *line {
	for i := range p.lines {
		if p.lines[i].label == label {
			return &p.lines[i]
		}
	}
	return nil
}

// rateInWords is a limit for people: "100 requests/hour", "10 requests/2 seconds".
func rateInWords(l policy.Limit) string {
	if l.Window == policy.Deny {
		return "no requests"
	}
	what := " requests/"
	if l.Tokens == 1 {
		what = " request/"
	}
	return strconv.FormatInt(l.Tokens, 10) + what + periodInWords(l.Per)
}

var units = [...]struct {
	name string
	d    time.Duration
}{
	{"day", policy.Day}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second},
	{"millisecond", time.Millisecond}, {"microsecond", time.Microsecond}, {"nanosecond", time.Nanosecond},
}

func periodInWords(per time.Duration) string {
	for _, u := range units {
		switch {
		case per == u.d:
			return u.name
		case per%u.d == 0:
			return strconv.FormatInt(int64(per/u.d), 10) + " " + u.name + "s"
		}
	}
	return per.String() // not reached: every time is a number of nanoseconds
}

// windowInSeconds is a period as the member limit_window writes it: "3600s", "0.25s".
func windowInSeconds(per time.Duration) string {
	s := strconv.FormatInt(int64(per/time.Second), 10)
	if rest := per % time.Second; rest > 0 {
		s += "." + strings.TrimRight(strconv.FormatInt(int64(time.Second+rest), 10)[1:], "0")
	}
	return s + "s"
}
