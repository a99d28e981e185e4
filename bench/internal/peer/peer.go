// Package peer puts other limiters behind one method, so that they can be
// measured beside tickgate with the same keys and the same limits. One file per
// library; each file says what the library does differently.
//
// The call goes through an interface, which adds one to two nanoseconds to each
// peer; tickgate's own methods are called directly.
package peer

import (
	"strings"

	"github.com/tickgate/tickgate/bench/internal/load"
)

// Limiter decides one call of cost 1 for a key, now.
type Limiter interface {
	Allow(key string) bool
}

// Lib is one library in one way of using it.
type Lib struct {
	Name    string // as in the benchmark's name
	Keyed   bool   // holds one bucket per key; otherwise one bucket for all
	CanDeny bool   // false where the library can only make the caller wait

	// New returns a limiter with limit l for each of about keys keys. It is
	// closed by its Close method where it has one.
	New func(l load.Limit, keys int) (Limiter, error)
}

// All returns every peer.
func All() []Lib {
	return []Lib{xtimeSyncMap, xtimeRWMutex, xtimeXsync, uber, sethvargo, throttledMap, juju, ulule, chiHTTPRate}
}

// Names returns the names of All, with commas between them.
func Names() string {
	var names []string
	for _, l := range All() {
		names = append(names, l.Name)
	}
	return strings.Join(names, ", ")
}

// Find returns the peer of that name.
func Find(name string) (Lib, bool) {
	for _, l := range All() {
		if l.Name == name {
			return l, true
		}
	}
	return Lib{}, false
}
