package redisync

import (
	"time"

	"github.com/tickgate/tickgate/clock"
)

// hush keeps what is said again and again out of the log: each thing is said once in
// quietFor. The zero hush is ready.
type hush struct{ said map[string]clock.Time }

// quietFor is how long a thing is not said again, and mostSaid how many are told apart;
// beyond that new ones are not said.
const (
	quietFor = time.Minute
	mostSaid = 1024
)

// may reports whether what may be said at now, and notes that it is.
func (h *hush) may(what string, now clock.Time) bool {
	if at, ok := h.said[what]; ok && now >= at && now.Sub(at) < quietFor {
		return false
	}
	if len(h.said) >= mostSaid {
		for what, at := range h.said {
			if now < at || now.Sub(at) >= quietFor {
				delete(h.said, what)
			}
		}
		if len(h.said) >= mostSaid {
			return false
		}
	}
	if h.said == nil {
		h.said = map[string]clock.Time{}
	}
	h.said[what] = now
	return true
}
