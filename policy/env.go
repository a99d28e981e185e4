package policy

import (
	"slices"
	"strings"
	"time"
)

// FromEnv returns a copy of base changed by environment variables, which it
// reads through lookup (os.LookupEnv) and nowhere else:
//
//	variable                 endpoint              example
//	MEM_RATE_LIMIT_INGEST    POST /memory/ingest   100/hour
//	MEM_RATE_LIMIT_QUERY     GET /memory/query     1000/hour burst=50
//	MEM_RATE_LIMIT_PROJECTS  GET /memory/projects  deny
//	MEM_RATE_LIMIT_SKILLS    GET /memory/skills    unlimited
//	MEM_RATE_LIMIT_BURST     all with a burst cap  10
//
// The first four take a limit as [ParseLimit] reads it. It replaces all limits of
// that endpoint except the one named "burst"; the policy is added if base has
// none. "unlimited" leaves only the burst cap, "deny" only the denial. Without a
// name of its own the limit is named after its period: second, minute, hour, day.
//
// MEM_RATE_LIMIT_BURST takes the requests allowed in any rolling second ("10"),
// or in any other rolling period ("20/2s"), or "unlimited" for no cap. It
// replaces the limit named "burst" wherever base has one, and is added to the
// four endpoints above where base lists them without. A policy that would be left
// without limits becomes unlimited.
//
// A variable that is not set or empty changes nothing; spaces around a value do
// not matter. A malformed value is a [*ConfigError] that names the variable, the
// value and the form expected, all of them joined. If there is none, the result
// is checked as a whole, by [Set.Validate], and a set is returned only when it is
// valid. base itself is never modified.
func FromEnv(base Set, lookup func(string) (string, bool)) (Set, error) {
	if lookup == nil {
		return nil, &ConfigError{Field: "lookup", Value: "nil", Reason: "must be a function such as os.LookupEnv"}
	}
	var r report
	out := base.Clone()
	for _, v := range memoryVariables {
		text, ok := variable(lookup, v.name)
		if !ok {
			continue
		}
		l, err := parseLimit(v.name, text)
		if err == nil && l.Name == nameBurst {
			err = &ConfigError{Field: v.name, Value: text, Reason: `the name "burst" is that of the burst cap, ` +
				"which MEM_RATE_LIMIT_BURST sets; write another name, or none"}
		}
		if err != nil {
			r.add(err)
			continue
		}
		if l.Name == "" {
			l.Name = periodName(l.Per)
		}
		p, _ := out.Lookup(v.endpoint)
		p.Endpoint = v.endpoint
		p.Limits = combine(append([]Limit{l}, named(p.Limits, nameBurst)...))
		out = out.With(p)
	}
	if text, ok := variable(lookup, burstVariable); ok {
		l, err := parseBurst(text)
		if err != nil {
			r.add(err)
		} else {
			setBurst(out, l)
		}
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	if err := out.Validate(); err != nil {
		return nil, err
	}
	return out, nil
}

const burstVariable = "MEM_RATE_LIMIT_BURST"

var memoryVariables = [...]struct{ name, endpoint string }{
	{"MEM_RATE_LIMIT_INGEST", MemoryIngest},
	{"MEM_RATE_LIMIT_QUERY", MemoryQuery},
	{"MEM_RATE_LIMIT_PROJECTS", MemoryProjects},
	{"MEM_RATE_LIMIT_SKILLS", MemorySkills},
}

// variable returns a value without the spaces around it. An empty one counts as
// not set: that is what "NAME=" in an environment file means to most tools.
func variable(lookup func(string) (string, bool), name string) (string, bool) {
	text, ok := lookup(name)
	text = strings.TrimSpace(text)
	return text, ok && text != ""
}

// parseBurst reads the burst cap, always a rolling window or Unlimited.
func parseBurst(text string) (Limit, error) {
	const form = `; write the requests allowed in any second, as in "10", or in any other period, as in "20/2s", or "unlimited"`
	bad := func(reason string) (Limit, error) {
		return Limit{}, &ConfigError{Field: burstVariable, Value: text, Reason: reason + form}
	}
	rate := text
	if allDigits(text) {
		rate += "/s"
	}
	l, reason := readLimit(rate)
	switch {
	case reason != "":
		return bad(reason)
	case l.Window == Unlimited && l.Name == "":
		return l, nil
	case l.Name != "", l.Burst != 0, l.Reserve != 0, l.Skew != 0, l.Window != TokenBucket && l.Window != Rolling:
		return bad("the burst cap is a rolling window and takes no options")
	}
	l.Name, l.Window = nameBurst, Rolling
	var reasons []string
	limitFaults(l, func(field, _, reason string) { reasons = append(reasons, field+" "+reason) })
	if len(reasons) > 0 {
		return bad(strings.Join(reasons, ", "))
	}
	return l, nil
}

// setBurst puts the cap into every policy of s that has one or is to have one.
func setBurst(s Set, burst Limit) {
	for i, p := range s {
		listed := false
		for _, v := range memoryVariables {
			listed = listed || v.endpoint == p.Endpoint
		}
		if listed || len(named(p.Limits, nameBurst)) > 0 {
			rest := slices.DeleteFunc(p.Limits, func(l Limit) bool { return l.Name == nameBurst })
			s[i].Limits = combine(append(rest, burst))
		}
	}
}

// combine makes limits that hold together into the limits of one policy, where
// Deny and Unlimited stand alone: a denial outweighs all else, and what is
// unlimited adds nothing to a limit.
func combine(limits []Limit) []Limit {
	for _, l := range limits {
		if l.Window == Deny {
			return []Limit{l}
		}
	}
	bounded := make([]Limit, 0, len(limits))
	for _, l := range limits {
		if l.Window != Unlimited {
			bounded = append(bounded, l)
		}
	}
	if len(bounded) == 0 {
		return []Limit{{Window: Unlimited}}
	}
	return bounded
}

func named(limits []Limit, name string) []Limit {
	var out []Limit
	for _, l := range limits {
		if l.Name == name {
			out = append(out, l)
		}
	}
	return out
}

// periodName names a limit after its period, so that "10/m" does not go by the
// name "hour"; other periods have no name and go by their canonical form.
func periodName(per time.Duration) string {
	switch per {
	case time.Second:
		return "second"
	case time.Minute:
		return "minute"
	case time.Hour:
		return nameHour
	case Day:
		return "day"
	}
	return ""
}
