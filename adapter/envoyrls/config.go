package envoyrls

import (
	"errors"
	"fmt"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// MaxDescriptors is the most descriptors in one request.
const MaxDescriptors = 1000

// Config says what a server is made of. The zero value is a working default.
type Config struct {
	// Gate is what the server's gate is made of. Its Policies must be nil: they come
	// from the files. Clock tells the time of requests, Wall where windows begin.
	// Evicting a key that owes forgives what it used; with tickgate.RejectNew new keys
	// are OVER_LIMIT when the gate is full.
	Gate tickgate.Config

	// Headers are the names of headers that answers add to the response. The zero
	// value adds none.
	Headers Headers

	// Source names the files to Gate.Audit: changes by Apply and Load are in the name of
	// Source, an @ and the version. "": envoyrls.
	Source string

	// Denied is told why a request was OVER_LIMIT, once for each key that was, before the
	// answer. Requests call it at once, and wait for it. nil: nobody is told.
	Denied func(*Denial)
}

// Headers are names of response headers about the limit that has the fewest hits left
// of those that the request met and that are enforced. "" leaves one out.
type Headers struct {
	Limit     string // requests_per_unit
	Remaining string // limit_remaining
	Reset     string // duration_until_reset in whole seconds, rounded up
}

// DefaultHeaders returns the names that envoyproxy/ratelimit gives them:
// RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset.
func DefaultHeaders() Headers {
	return Headers{Limit: "RateLimit-Limit", Remaining: "RateLimit-Remaining", Reset: "RateLimit-Reset"}
}

func (h Headers) any() bool { return h != Headers{} }

// check completes c and returns every fault of it that the gate does not find.
func (c *Config) check() error {
	var faults []error
	fault := func(field, value, reason string) {
		faults = append(faults, &tickgate.ConfigError{Field: field, Value: value, Reason: reason})
	}
	if c.Gate.Policies != nil {
		fault("Gate.Policies", fmt.Sprintf("%d policies", len(c.Gate.Policies)), "must be nil: the policies come from the files")
	}
	if c.Gate.Clock == nil {
		c.Gate.Clock = clock.Default()
	}
	if c.Source == "" {
		c.Source = "envoyrls"
	}
	for _, h := range []struct{ field, name string }{
		{"Headers.Limit", c.Headers.Limit}, {"Headers.Remaining", c.Headers.Remaining}, {"Headers.Reset", c.Headers.Reset},
	} {
		if !headerName(h.name) {
			fault(h.field, h.name, "is no header name: use letters, digits and hyphens")
		}
	}
	return errors.Join(faults...)
}

// headerName reports whether s can name a header; "" stands for none. HTTP allows a few
// characters more, which nobody misses.
func headerName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
