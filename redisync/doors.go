package redisync

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// doors are the keys that strict calls are made for, or were denied a short while ago.
// Through each goes one call at a time: those that wait behind a denial are denied by
// it and never sent.
type doors struct {
	seed   maphash.Seed
	shards [64]doorShard
}

type doorShard struct {
	mu   sync.Mutex
	keys map[string]*door
	_    [40]byte // a line for each
}

// mostDoors is how many denials a shard remembers; there are 64 shards. Forgetting one
// costs a call.
const mostDoors = 1024

// door is the way to one key.
type door struct {
	turn  chan struct{} // holds one: whoever is at Redis
	users int           // that are in, or wait; guarded by the shard

	// The last denial, guarded by turn: tokens asked for, when as many will be there, and
	// until when nobody asks again.
	n     int64
	there clock.Time
	until clock.Time
	said  tickgate.Decision
}

func newDoors() *doors {
	d := &doors{seed: maphash.MakeSeed()}
	for i := range d.shards {
		d.shards[i].keys = map[string]*door{}
	}
	return d
}

func (d *doors) shard(key string) *doorShard {
	return &d.shards[maphash.String(d.seed, key)%uint64(len(d.shards))]
}

// enter returns the door of a key. leave must follow.
func (d *doors) enter(key string) *door {
	s := d.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.keys[key]
	if o == nil {
		o = &door{turn: make(chan struct{}, 1)}
		s.keys[key] = o
	}
	o.users++
	return o
}

// leave gives a door up. It stays while its denial lasts, or there are too many.
func (d *doors) leave(key string, o *door, now clock.Time) {
	s := d.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.users--; o.users > 0 {
		return
	}
	if now >= o.until || len(s.keys) > mostDoors {
		s.remove(key, o)
	}
	looked := 0
	for key, o := range s.keys { // in random order
		if o.users == 0 && now >= o.until {
			s.remove(key, o)
		}
		if looked++; looked == 2 { // more than come
			break
		}
	}
}

func (s *doorShard) remove(key string, o *door) {
	if s.keys[key] == o {
		delete(s.keys, key)
	}
}

// forget has no denial last any longer.
func (d *doors) forget() {
	for i := range d.shards {
		s := &d.shards[i]
		s.mu.Lock()
		s.keys = map[string]*door{} // those who are in keep theirs
		s.mu.Unlock()
	}
}

// deny notes a denial of n tokens by a call that was sent at sent. The time counts from
// then, so it ends rather before than after the tokens are there; and after most at the
// latest, since somebody may have put the budget right meanwhile.
func (o *door) deny(said tickgate.Decision, n int64, sent clock.Time, most time.Duration) {
	o.n, o.said, o.there, o.until = n, said, sent.Add(said.RetryAfter), sent.Add(min(said.RetryAfter, most))
}

// denies reports whether the last denial holds for n tokens at now, and what it says then.
func (o *door) denies(n int64, now clock.Time) (tickgate.Decision, bool) {
	if now >= o.until || n < o.n || o.said.RetryAfter == tickgate.Never {
		return tickgate.Decision{}, false
	}
	left := o.there.Sub(now)
	d := o.said
	d.ResetAfter = max(0, d.ResetAfter-(d.RetryAfter-left))
	d.RetryAfter = left
	return d, true
}
