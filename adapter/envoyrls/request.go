package envoyrls

import (
	"math"
	"slices"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/tickgate/tickgate"
)

// request is a request under the rules of one moment.
type request struct {
	items     []item
	members   []member
	over      bool   // some member denies
	unmatched uint64 // descriptors
}

// item is what became of one descriptor.
type item struct {
	rule   *rule  // nil: no limit, or one that another replaces
	key    string // "" if no entry matched
	hits   int64
	member int  // of an item with a rule that is not unlimited
	barred bool // it is blocked, and the gate is not asked
}

// member is one key of the gate, asked for once, however many descriptors mean it.
type member struct {
	id
	hits int64 // 0 looks

	over   bool            // this is what denies
	reason tickgate.Reason // why, and when it passes
	retry  time.Duration

	left  int64
	reset time.Duration
}

// id tells members apart.
type id struct {
	rule *rule
	key  string
	back bool // gives its hits back
}

// resolve finds the keys that req is about.
func (r *rules) resolve(req *ratelimitv3.RateLimitRequest) *request {
	descriptors := req.GetDescriptors()
	q := &request{items: make([]item, len(descriptors))}
	var replaced []string
	var room [8]string
	for i, d := range descriptors {
		found, values := r.find(req.GetDomain(), d.GetEntries(), room[:0])
		if found == nil {
			q.unmatched++
			continue
		}
		q.items[i] = item{rule: found, key: apikey(values)}
		replaced = append(replaced, found.replaces...)
	}
	q.replace(replaced)

	seen := make(map[id]int, len(descriptors))
	for i, d := range descriptors {
		it := &q.items[i]
		it.hits = hits(req, d)
		if it.rule == nil || it.rule.unlimited {
			continue
		}
		who := id{it.rule, it.key, d.GetIsNegativeHits()}
		at, twice := seen[who]
		if !twice {
			at = len(q.members)
			seen[who] = at
			q.members = append(q.members, member{id: who})
		}
		it.member = at
		m := &q.members[at]
		m.hits = saturate(m.hits, it.hits)
	}
	return q
}

// replace takes the rules with these names out. Those that are taken out replace others
// all the same.
func (q *request) replace(names []string) {
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	for i := range q.items {
		if r := q.items[i].rule; r != nil && r.name != "" {
			if _, out := slices.BinarySearch(names, r.name); out {
				q.items[i].rule = nil
			}
		}
	}
}

// hits is what a descriptor adds. The field of the request cannot tell 0 from unset, that
// of the descriptor can.
func hits(req *ratelimitv3.RateLimitRequest, d *commonv3.RateLimitDescriptor) int64 {
	if own := d.GetHitsAddend(); own != nil {
		return int64(min(own.GetValue(), math.MaxInt64))
	}
	return int64(max(req.GetHitsAddend(), 1))
}

// saturate adds two numbers that are not negative.
func saturate(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// settle keeps what a decision says.
func (m *member) settle(d *tickgate.Decision) { m.left, m.reset = d.Remaining, d.ResetAfter }
