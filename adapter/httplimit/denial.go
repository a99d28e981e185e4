package httplimit

import (
	"net/http"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

// Denial is a request that a limit, a ban or a block did not let pass.
type Denial struct {
	Decision tickgate.Decision
	Endpoint string
	Limit    policy.Limit // that decided; zero for a ban and a block

	// RetryAfter is the value of the header in seconds, at least 1; 0 if there is
	// none, as the request can never pass.
	RetryAfter int64

	line *line
}

// DenyHandler answers a denial. The headers about limits, Retry-After and
// Cache-Control are set already.
type DenyHandler func(w http.ResponseWriter, r *http.Request, d *Denial)

// WriteDenial is the [DenyHandler] that is used where none is set: status 429 and a
// body of application/problem+json,
//
//	{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",
//	 "title":"Quota exceeded","status":429,"violated-policies":["hour"],
//	 "error":"rate_limit_exceeded","reason":"100 requests/hour for POST /memory/ingest",
//	 "limit_window":"3600s","retry_after_seconds":47,
//	 "detail":"The limit is used up.","instance":"/memory/ingest"}
//
// on one line. retry_after_seconds is left out with Retry-After. A block is answered
// with status 403: it is no quota, and asking again does not help.
func WriteDenial(w http.ResponseWriter, r *http.Request, d *Denial) {
	v := makeValues(fieldsOfProblem)
	writeDenial(w, r, d, &v)
}

// newDenial makes the denial by a line; nil if no limit decided.
func newDenial(d *tickgate.Decision, endpoint string, retry int64, n *line) Denial {
	out := Denial{Decision: *d, Endpoint: endpoint, RetryAfter: retry, line: n}
	if n != nil {
		out.Limit = n.limit
	}
	return out
}

// fieldsOfDenial are the fields of a denial that are not about limits: those of a
// problem, and Retry-After.
const fieldsOfDenial = fieldsOfProblem + 1

// writeDenial is WriteDenial with room for the fields of a problem.
func writeDenial(w http.ResponseWriter, r *http.Request, d *Denial, v *values) {
	if d.Decision.Reason == tickgate.Blocked {
		WriteError(w, r, &Error{
			Status: http.StatusForbidden, Code: "blocked",
			Detail: "Requests of this caller are blocked.", Err: tickgate.ErrBlocked,
		})
		return
	}
	body := bodies.Get().(*[]byte)
	b := (*body)[:0]
	switch l := d.line; {
	case l == nil:
		b = denialHead(b, nil, d.Decision.Reason.String()+" for "+d.Endpoint)
	case l.problem == nil:
		b = denialHead(b, l, l.reason+" for "+d.Endpoint)
	default:
		b = append(b, l.problem...)
	}
	if d.RetryAfter > 0 {
		b = append(b, `,"retry_after_seconds":`...)
		b = appendInteger(b, d.RetryAfter)
	}
	*body = member(b, "detail", d.detail())
	writeProblem(w, r, http.StatusTooManyRequests, body, v)
}

// denialHead appends what all denials by a limit begin with; l is nil if none decided.
func denialHead(b []byte, l *line, reason string) []byte {
	b = problemHead(b, typeQuota, "Quota exceeded", http.StatusTooManyRequests)
	b = append(b, `,"violated-policies":[`...)
	if l != nil {
		b = appendJSON(b, l.label)
	}
	b = append(b, ']')
	b = member(b, "error", "rate_limit_exceeded")
	b = member(b, "reason", reason)
	if l != nil && l.limit.Per > 0 {
		b = member(b, "limit_window", windowInSeconds(l.limit.Per))
	}
	return b
}

func (d *Denial) detail() string {
	switch {
	case d.Decision.Reason == tickgate.Banned:
		return "The caller is banned for a time."
	case d.Limit.Window == policy.Deny:
		return "This endpoint takes no requests."
	case d.Decision.Reason == tickgate.TooCostly:
		return "The request costs more than the limit ever has; it can never pass."
	case d.Decision.Reason == tickgate.Unsettled:
		return "What may be used here is used up until other servers have been told of it."
	}
	return "The limit is used up."
}
