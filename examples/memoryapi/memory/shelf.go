package memory

import "sync"

// shelf keeps the newest memories of all callers, up to its capacity. A caller who
// sends many pushes out those of others: an API that must not let that happen has a
// bound for each.
type shelf struct {
	mu       sync.RWMutex
	memories []job // a ring once it is full
	most     int
	next     int // the oldest of the ring, to be replaced
}

func newShelf(most int) *shelf { return &shelf{most: most} }

// put keeps a memory.
func (s *shelf) put(j job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.memories) < s.most {
		s.memories = append(s.memories, j)
		return
	}
	s.memories[s.next] = j
	s.next = (s.next + 1) % s.most
}

// each calls f with the memories of o, the newest first, until it returns false.
func (s *shelf) each(o owner, f func(*job) bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := len(s.memories)
	for i := 1; i <= n; i++ {
		j := &s.memories[(s.next+n-i)%n]
		if j.owner == o && !f(j) {
			return
		}
	}
}
