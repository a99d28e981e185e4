package changes

import (
	"strconv"
	"strings"

	"github.com/tickgate/tickgate/policy"
)

// diff returns what is different between two sets, a policy to a line: first what was
// changed or is new, in the order of the new set, then what went.
func diff(before, after policy.Set) (lines []string) {
	old := make(map[string]policy.Policy, len(before))
	for _, p := range before {
		old[p.Endpoint] = p
	}
	for _, p := range after {
		was, known := old[p.Endpoint]
		delete(old, p.Endpoint)
		switch {
		case !known:
			lines = append(lines, p.Endpoint+": new, "+text(p))
		case !was.Equal(p):
			lines = append(lines, p.Endpoint+": "+text(was)+" → "+text(p))
		}
	}
	for _, p := range before {
		if _, gone := old[p.Endpoint]; gone {
			lines = append(lines, p.Endpoint+": "+text(p)+" → removed")
		}
	}
	return lines
}

// text is a policy in one line.
func text(p policy.Policy) string {
	var b strings.Builder
	for i, l := range p.Limits {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(l.String())
	}
	if p.Credit != 0 {
		b.WriteString(" credit=" + strconv.FormatInt(p.Credit, 10))
	}
	if p.Shadow {
		b.WriteString(" shadow")
	}
	return b.String()
}
