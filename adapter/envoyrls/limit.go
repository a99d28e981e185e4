package envoyrls

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"go.yaml.in/yaml/v3"

	"github.com/tickgate/tickgate/policy"
)

// limitName is that of every limit in the gate: one that changes its numbers, or its way
// of counting, stays the same limit, and what is used of it stays used.
const limitName = "requests"

var units = map[string]struct {
	code ratelimitv3.RateLimitResponse_RateLimit_Unit
	per  time.Duration
}{
	"second": {ratelimitv3.RateLimitResponse_RateLimit_SECOND, time.Second},
	"minute": {ratelimitv3.RateLimitResponse_RateLimit_MINUTE, time.Minute},
	"hour":   {ratelimitv3.RateLimitResponse_RateLimit_HOUR, time.Hour},
	"day":    {ratelimitv3.RateLimitResponse_RateLimit_DAY, policy.Day},
	"week":   {ratelimitv3.RateLimitResponse_RateLimit_WEEK, 7 * policy.Day},
	"month":  {ratelimitv3.RateLimitResponse_RateLimit_MONTH, 30 * policy.Day},
	"year":   {ratelimitv3.RateLimitResponse_RateLimit_YEAR, 365 * policy.Day},
}

// limit reads a rate_limit, nil if it is faulty.
func (d *decoder) limit(n *yaml.Node, at, path string, shadow bool) *rule {
	fields := d.object(n, at, "unit", "requests_per_unit", "burst", "unlimited", "name", "replaces")
	if fields == nil {
		return nil
	}
	before := len(d.faults)
	r := &rule{
		shadow:    shadow,
		name:      d.text(fields["name"], below(at, "name")),
		unlimited: d.flag(fields["unlimited"], below(at, "unlimited")),
	}
	r.replaces = d.replaces(fields["replaces"], below(at, "replaces"), r.name)
	if r.unlimited {
		for _, no := range []string{"unit", "requests_per_unit", "burst"} {
			if fields[no] != nil {
				d.fault(fields[no], below(at, no), "must be left out of an unlimited rate_limit")
			}
		}
	} else {
		d.numbers(n, fields, at, endpoint(path), r)
	}
	if len(d.faults) > before {
		return nil
	}
	d.rules = append(d.rules, r)
	d.places[r] = n
	return r
}

// replaces reads the names of the limits that the one called own replaces.
func (d *decoder) replaces(n *yaml.Node, at, own string) (names []string) {
	for i, item := range d.list(n, at) {
		at := fmt.Sprintf("%s[%d]", at, i)
		fields := d.object(item, at, "name")
		if fields == nil {
			continue
		}
		switch name := d.text(fields["name"], below(at, "name")); name {
		case "":
			d.fault(item, below(at, "name"), "is required: the name of the limit to replace")
		case own:
			d.fault(fields["name"], below(at, "name"), "is this limit's own name")
		default:
			names = append(names, name)
		}
	}
	return names
}

// numbers reads the rest of a limit into r and the gate's policy for it.
func (d *decoder) numbers(n *yaml.Node, fields map[string]*yaml.Node, at, endpoint string, r *rule) {
	unit, known := units[strings.ToLower(d.text(fields["unit"], below(at, "unit")))]
	if !known {
		d.fault(cmp.Or(fields["unit"], n), below(at, "unit"), "must be second, minute, hour, day, week, month or year")
	}
	requests, ok := d.whole(fields["requests_per_unit"], below(at, "requests_per_unit"))
	if fields["requests_per_unit"] == nil {
		d.fault(n, below(at, "requests_per_unit"), "is required; 0 lets nothing pass")
	}
	burst, bucket := d.whole(fields["burst"], below(at, "burst"))
	if bucket && burst == 0 {
		d.fault(fields["burst"], below(at, "burst"), "must be above zero; leave it out to count in windows")
	}
	if !known || !ok {
		return
	}
	r.endpoint = endpoint
	r.current = &ratelimitv3.RateLimitResponse_RateLimit{Name: r.name, RequestsPerUnit: requests, Unit: unit.code}
	l := policy.Limit{Name: limitName, Tokens: int64(requests), Per: unit.per, Window: policy.Aligned}
	switch {
	case requests == 0 && bucket:
		d.fault(fields["burst"], below(at, "burst"), "must be left out where requests_per_unit is 0")
		return
	case requests == 0:
		l = policy.Limit{Name: limitName, Window: policy.Deny}
	case bucket:
		l.Window, l.Burst = policy.TokenBucket, int64(burst)
	}
	if r.most = int64(requests); bucket {
		r.most = int64(burst)
	}
	if burst > 0 || !bucket {
		d.valid(l, fields, at)
	}
	d.set = append(d.set, policy.Policy{Endpoint: endpoint, Limits: []policy.Limit{l}, Shadow: r.shadow})
}

// valid reports what the gate would say against a limit where it stands in the file.
func (d *decoder) valid(l policy.Limit, fields map[string]*yaml.Node, at string) {
	err := l.Validate()
	if err == nil {
		return
	}
	faults := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		faults = joined.Unwrap()
	}
	for _, err := range faults {
		field, reason := "requests_per_unit", err.Error()
		if f := (*policy.ConfigError)(nil); errors.As(err, &f) {
			if reason = f.Reason; f.Field == "limit.burst" {
				field = "burst"
			}
		}
		d.fault(fields[field], below(at, field), reason)
	}
}

// circles reports limits that replace each other: in a request that meets them all, none
// would be left.
func (d *decoder) circles() {
	to := map[string][]string{}
	for _, r := range d.rules {
		if r.name != "" {
			to[r.name] = append(to[r.name], r.replaces...)
		}
	}
	const walking, done = 1, 2
	state := map[string]int{}
	var circle func(name string) bool
	circle = func(name string) bool {
		if state[name] != 0 {
			return state[name] == walking
		}
		state[name] = walking
		for _, next := range to[name] {
			if circle(next) {
				return true
			}
		}
		state[name] = done
		return false
	}
	for _, r := range d.rules {
		if r.name != "" && circle(r.name) {
			d.fault(d.places[r], "replaces", "of "+r.name+" lead to limits that replace each other: none of them would be left")
			return
		}
	}
}
