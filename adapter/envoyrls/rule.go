package envoyrls

import (
	"strings"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/tickgate/tickgate/policy"
)

// rules are what files say, compiled. They are immutable.
type rules struct {
	files   []File
	domains map[string]*node
	set     policy.Set
}

// rule is one rate_limit.
type rule struct {
	endpoint  string // of the gate's policy; "" for an unlimited one, which has none
	most      int64  // the most hits that ever pass at once
	unlimited bool
	shadow    bool
	name      string
	replaces  []string
	current   *ratelimitv3.RateLimitResponse_RateLimit // shared by all answers, never written
}

// node is one entry of a descriptor list, or the root of a domain.
type node struct {
	rule  *rule             // nil: none
	open  bool              // the value of the request is part of the key
	exact map[pair]*node    // entries below, by key and value; value "" is that without one
	wild  map[string][]glob // entries below with a *, by key, in the order of the file
}

type pair struct{ key, value string }

type glob struct {
	parts []string // between the *
	node  *node
}

// next returns the entry below n that matches best, nil if none does.
func (n *node) next(key, value string) *node {
	if to := n.exact[pair{key, value}]; to != nil {
		return to
	}
	for i := range n.wild[key] {
		if w := &n.wild[key][i]; w.match(value) {
			return w.node
		}
	}
	return n.exact[pair{key, ""}]
}

// match reports whether the parts come in s in order, the first at its beginning and the
// last at its end. Each is taken where it comes first, which leaves most for the others.
func (g *glob) match(s string) bool {
	last := len(g.parts) - 1
	s, ok := strings.CutPrefix(s, g.parts[0])
	for _, part := range g.parts[1:last] {
		if !ok {
			return false
		}
		_, s, ok = strings.Cut(s, part)
	}
	return ok && strings.HasSuffix(s, g.parts[last])
}

// find returns the rule that a descriptor matches, nil if it matches none, and adds the
// values that are its key to values. A descriptor matches as deep as it has pairs.
func (r *rules) find(domain string, entries []*commonv3.RateLimitDescriptor_Entry, values []string) (*rule, []string) {
	n := r.domains[domain]
	for _, e := range entries {
		if n == nil {
			return nil, nil
		}
		if n = n.next(e.GetKey(), e.GetValue()); n != nil && n.open {
			values = append(values, e.GetValue())
		}
	}
	if n == nil {
		return nil, nil
	}
	return n.rule, values
}
