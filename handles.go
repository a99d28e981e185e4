package tickgate

import "sync"

// handles are the live handles of a gate, for Apply to find those for whose
// endpoint another policy answers now. Only making, releasing and moving a handle
// takes the lock; no decision does.
type handles struct {
	mu  sync.Mutex
	all map[*handle]struct{}
}

func (s *handles) add(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[*handle]struct{})
	}
	s.all[h] = struct{}{}
}

func (s *handles) remove(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, h)
}

// moved marks the handles that have to be resolved anew under r.
func (s *handles) moved(r *routes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.all {
		if p, _ := r.find(h.endpoint); p != h.pin.Policy() {
			h.state.CompareAndSwap(inUse, stale)
		}
	}
}
