package admin

import (
	"sync"
	"time"

	"github.com/tickgate/tickgate"
)

const (
	// lookEvery is how often all keys are looked at, at most.
	lookEvery = 5 * time.Second
	// lookKeys is how many keys are looked at in one go: some 3 ms.
	lookKeys = 20_000
	// lookShare is how much longer than the last look took nobody looks: a table with
	// room for many keys takes long to go over, however few it holds.
	lookShare = 100
)

// utilisation is how much of their limits keys have used, by policy. It is looked at
// now and then, while somebody asks.
type utilisation struct {
	gates []gate
	now   func() time.Time

	mu   sync.Mutex // held while looking
	last *look
	next time.Time
}

// look is what one look found. It is not changed any more.
type look struct {
	at      time.Time
	keys    int // looked at
	partial bool
	blocked int
	banned  int
	limits  map[limitOf]*limitUse
}

type limitOf struct {
	gate          int // its number
	policy, limit string
}

// limitUse is how the keys of one limit stand. In debt counts as all used.
type limitUse struct {
	keys    int
	used    int     // keys of which no token is left
	fullest float64 // greatest share used, 0 to 1
	sum     float64 // of shares
}

func newUtilisation(gates []gate, now func() time.Time) *utilisation {
	return &utilisation{gates: gates, now: now}
}

// look returns what keys have used, as of at most five seconds ago, or longer if looking
// takes long. Those who ask meanwhile wait for it.
func (u *utilisation) look() *look {
	u.mu.Lock()
	defer u.mu.Unlock()
	begun := u.now()
	if u.last != nil && begun.Before(u.next) {
		return u.last
	}
	l := &look{at: begun, limits: map[limitOf]*limitUse{}}
	for i := range u.gates {
		most := l.keys + lookKeys/len(u.gates)
		u.gates[i].usage(func(q *tickgate.Quota) bool { return l.add(q, i, most) })
	}
	u.last = l
	took := u.now().Sub(begun)
	u.next = begun.Add(max(lookEvery, lookShare*took))
	return l
}

// add counts a key of a gate, and reports whether to go on: until there are most keys.
func (l *look) add(q *tickgate.Quota, gate, most int) bool {
	if l.keys == most {
		l.partial = true
		return false
	}
	l.keys++
	if q.Blocked {
		l.blocked++
	}
	if q.BannedFor > 0 {
		l.banned++
	}
	for i := range q.Limits {
		n := &q.Limits[i]
		name := limitOf{gate, q.Policy, n.Limit}
		use := l.limits[name]
		if use == nil {
			use = &limitUse{}
			l.limits[name] = use
		}
		use.keys++
		if n.Remaining == 0 {
			use.used++
		}
		if n.Capacity > 0 {
			share := min(float64(n.Used)/float64(n.Capacity), 1)
			use.fullest = max(use.fullest, share)
			use.sum += share
		}
	}
	return true
}
