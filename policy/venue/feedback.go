package venue

import (
	"errors"
	"time"

	"github.com/tickgate/tickgate/policy"
)

// Feedback is what a venue's reply says about limits.
type Feedback struct {
	// Used are the venue's own counts, of the counts that the request drew on.
	Used []Used
	// BanFor is how long nothing more must be sent, zero if the reply does not
	// say so: to every key that the request drew on, as replies do not tell
	// which of them is at fault.
	BanFor time.Duration
	// Err joins one [*policy.ConfigError] for each header whose value makes no
	// sense. Such a header is ignored and the rest is used.
	Err error
}

// Used is what a venue has counted in one limit: in the window of the request, up
// to and including that request.
type Used struct {
	// Endpoint and Limit name a limit of the preset.
	Endpoint, Limit string
	// Used is in tokens, zero or more. It may be above the limit's capacity, as
	// others may send on the same account.
	Used int64
}

// header is a header with a count of a limit.
type header struct {
	name      string
	limit     string
	remaining bool // it says what is left, not what is used
}

// ban is a rule for a reply that asks to stop.
type ban struct {
	status   int    // of the reply, or
	spent    string // a header that says "0" in it
	header   string // that says for how long, if there is one
	form     form
	fallback time.Duration // when the header is missing or makes no sense
}

// maxBan bounds a ban: above the longest that venues document, three days, and
// low enough that a broken header stops nobody for good.
const maxBan = 30 * 24 * time.Hour

// maxOver bounds a count: as many times the capacity as others on the same
// account may have used at most. Beyond it a header is taken to be broken.
const maxOver = 100

// Feedback reads the reply to a request of that class. get returns the value of a
// header by its name, in any case, empty if there is none: the method Get of an
// HTTP header. status is the reply's status code, 0 if there is none. now is the
// wall time at which the reply came; it matters only where a venue names a time of
// day rather than a span.
//
// Counts of what remains are turned around with the capacity in p.Policies. A
// reply without any of the venue's headers gives an empty Feedback, and a venue
// without headers gives one for every reply, but for bans by status.
func (p Preset) Feedback(class string, get func(header string) string, status int, now time.Time) Feedback {
	if get == nil {
		get = func(string) string { return "" }
	}
	var f Feedback
	var faults []error
	fault := func(name, value, reason string) {
		faults = append(faults, &policy.ConfigError{Field: "header " + name, Value: value, Reason: reason + "; ignored"})
	}
	m, known := p.Message(class)
	if !known {
		faults = append(faults, &policy.ConfigError{Field: "class", Value: class,
			Reason: "not a class of messages of " + p.Name + "; its counts are ignored"})
	}
	for _, d := range m.Draws {
		counted, _ := p.Policies.Lookup(d.Endpoint)
		for _, l := range counted.Limits {
			for _, h := range p.headers {
				if h.limit != l.Label() {
					continue
				}
				text := get(h.name)
				if text == "" {
					continue
				}
				n, reason := wholeNumber(text)
				if reason == "" && n/maxOver > l.Capacity() {
					reason = "far above the limit's capacity"
				}
				if reason != "" {
					fault(h.name, text, reason)
					continue
				}
				if h.remaining {
					n = max(0, l.Capacity()-n)
				}
				f.Used = append(f.Used, Used{Endpoint: d.Endpoint, Limit: l.Label(), Used: n})
			}
		}
	}
	for _, b := range p.bans {
		if !b.applies(get, status) {
			continue
		}
		wait := b.fallback
		if text := get(b.header); b.header != "" && text != "" {
			if d, reason := b.form.wait(text, now); reason == "" {
				wait = d
			} else {
				fault(b.header, text, reason)
			}
		}
		f.BanFor = max(f.BanFor, wait)
	}
	f.Err = errors.Join(faults...)
	return f
}

func (b ban) applies(get func(string) string, status int) bool {
	if b.spent == "" {
		return status == b.status
	}
	n, reason := wholeNumber(get(b.spent))
	return reason == "" && n == 0
}
