package envoyrls

import (
	"strconv"
	"strings"
	"time"

	"github.com/tickgate/tickgate"
)

// Denial is why a request was OVER_LIMIT: one of the keys that had too little left, or
// that is blocked. A request may have several.
type Denial struct {
	Domain string

	// Endpoint is that of the gate's policy, as in Gate().Stats: the domain and the entries
	// that lead to the limit, as in "edge;user". It is the domain alone where the gate has no
	// policy, as for an unlimited entry.
	Endpoint string

	// APIKey is the gate's, which its Block and Usage take: the values that the entry leaves
	// open. "" where no entry matched, and everyone is blocked.
	APIKey string

	Limit      string // its name, or as "5 per minute"; "" of a block
	Reason     tickgate.Reason
	Hits       int64         // that were asked for, of all descriptors of the key; at most 2^63 - 1
	RetryAfter time.Duration // tickgate.Never: they cannot pass

	// Of several keys that have too little, one at least has the exact RetryAfter; that of
	// others may be the time until their limit is full.
}

// deny notes why m denies, if nothing was noted before.
func (m *member) deny(reason tickgate.Reason, retry time.Duration) {
	m.over = true
	if m.reason == tickgate.OK {
		m.reason, m.retry = reason, retry
	}
}

// tell tells the hook why q was refused.
func (s *Server) tell(domain string, q *request) {
	if s.denied == nil || !q.over {
		return
	}
	for i := range q.members {
		m := &q.members[i]
		if !m.over || !m.enforced() {
			continue
		}
		d := Denial{Domain: domain, Endpoint: m.rule.endpoint, APIKey: m.key, Reason: m.reason, Hits: m.hits, RetryAfter: m.retry}
		if m.reason != tickgate.Blocked {
			d.Limit = m.rule.text()
		}
		s.denied(&d)
	}
	told := map[string]bool{}
	for i := range q.items {
		it := &q.items[i]
		if !it.barred || told[it.key] {
			continue
		}
		told[it.key] = true
		d := Denial{Domain: domain, Endpoint: domain, APIKey: it.key, Reason: tickgate.Blocked, Hits: it.hits, RetryAfter: tickgate.Never}
		if it.rule != nil && !it.rule.unlimited {
			d.Endpoint = it.rule.endpoint
		}
		s.denied(&d)
	}
}

// text is a limit for people: its name, or as "5 per minute".
func (r *rule) text() string {
	if r.name != "" {
		return r.name
	}
	return strconv.FormatUint(uint64(r.current.GetRequestsPerUnit()), 10) + " per " + strings.ToLower(r.current.GetUnit().String())
}
