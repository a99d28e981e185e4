package httplimit

import (
	"net/http"
	"strconv"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

// HeaderMode says which headers tell callers of their limits. Retry-After belongs to
// a denial and does not depend on it.
type HeaderMode uint8

const (
	// IETF are the fields of draft-ietf-httpapi-ratelimit-headers-11: RateLimit-Policy
	// lists all limits of the endpoint, RateLimit what is left of the one that decided.
	//
	//	RateLimit-Policy: "hour";q=100;w=3600, "burst";q=10;w=1
	//	RateLimit: "hour";r=42;t=1512
	IETF HeaderMode = iota

	// Legacy are X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset of the
	// limit that decided: q, r and t, the last in seconds from now.
	Legacy

	// Both are IETF and Legacy.
	Both

	// None are none.
	None
)

// String returns "ietf", "legacy", "both" or "none".
func (m HeaderMode) String() string {
	switch m {
	case IETF:
		return "ietf"
	case Legacy:
		return "legacy"
	case Both:
		return "both"
	case None:
		return "none"
	}
	return "HeaderMode(" + strconv.Itoa(int(m)) + ")"
}

// The names as net/http writes them; to HTTP, case makes no difference.
const (
	headerPolicy    = "Ratelimit-Policy"
	headerLimit     = "Ratelimit"
	headerXLimit    = "X-Ratelimit-Limit"
	headerXLeft     = "X-Ratelimit-Remaining"
	headerXReset    = "X-Ratelimit-Reset"
	headerRetry     = "Retry-After"
	headerCache     = "Cache-Control"
	headerType      = "Content-Type"
	headerLength    = "Content-Length"
	headerChallenge = "Www-Authenticate"
	headerReplayed  = "Idempotent-Replayed"
	headerKey       = "Idempotency-Key"
)

// fields is how many header fields a mode writes at most.
func (m HeaderMode) fields() int {
	switch m {
	case IETF:
		return 2
	case Legacy:
		return 3
	case Both:
		return 5
	}
	return 0
}

// write tells of a decision by a line; nil if no limit decided. Both IETF fields are
// lists, so those of a limiter around this one stay; the legacy ones are of the last
// that decided. v has room for the fields.
func (m HeaderMode) write(h http.Header, p *page, n *line, d *tickgate.Decision, retry int64, v *values) {
	if m == IETF || m == Both {
		if p.header != "" {
			h[headerPolicy] = v.join(h[headerPolicy], p.header)
		}
		if n != nil {
			h[headerLimit] = v.join(h[headerLimit], n.item(d, retry))
		}
	}
	if (m == Legacy || m == Both) && n != nil {
		h[headerXLimit] = v.list(integer(n.quota))
		h[headerXLeft] = v.list(integer(d.Remaining))
		t, told := effectiveSeconds(&n.limit, d, retry)
		switch {
		case told:
			h[headerXReset] = v.list(integer(t))
		case retry > 0:
			h[headerXReset] = v.list(integer(retry))
		}
	}
}

// item is one member of the field RateLimit.
func (l *line) item(d *tickgate.Decision, retry int64) string {
	var buf [128]byte
	b := append(buf[:0], l.quoted...)
	b = append(b, ";r="...)
	b = appendInteger(b, d.Remaining)
	if t, told := effectiveSeconds(&l.limit, d, retry); told {
		b = append(b, ";t="...)
		b = appendInteger(b, t)
	}
	return string(b)
}

// policyItem is one member of the field RateLimit-Policy.
func policyItem(l policy.Limit) string {
	b := append([]byte(quoted(l)), ";q="...)
	b = appendInteger(b, quota(&l))
	if l.Window != policy.Deny {
		b = append(b, ";w="...)
		b = appendInteger(b, windowSeconds(&l))
	}
	return string(b)
}

// quoted is a limit's name as a String of RFC 9651. policy.Limit allows in names only
// what needs no escape there.
func quoted(l policy.Limit) string { return `"` + l.Label() + `"` }

// maxInteger is the largest Integer of RFC 9651: fifteen digits.
const maxInteger = 999_999_999_999_999

func appendInteger(b []byte, n int64) []byte {
	return strconv.AppendInt(b, min(max(n, 0), maxInteger), 10)
}

func integer(n int64) string { return strconv.FormatInt(min(max(n, 0), maxInteger), 10) }
