package envoyrls

import "sync/atomic"

// Stats counts since New. Hits and denials of each limit are in the gate's own
// (tickgate.Gate.Stats), by the endpoint of its policy.
type Stats struct {
	Requests     uint64 // answered or refused
	OverLimit    uint64 // requests with the overall code OVER_LIMIT
	Refused      uint64 // requests that ended with an error
	Unmatched    uint64 // descriptors that no entry matched
	ShadowDenied uint64 // limits in shadow mode that would have denied a request that passed
	Loaded       uint64 // sets of files that came into force, the first included
	LoadFailed   uint64 // sets of files that did not
}

type counters struct {
	requests, overLimit, refused, unmatched, shadowDenied, loaded, loadFailed atomic.Uint64
}

// Stats returns the counters. They are read one after the other.
func (s *Server) Stats() Stats {
	return Stats{
		Requests: s.count.requests.Load(), OverLimit: s.count.overLimit.Load(), Refused: s.count.refused.Load(),
		Unmatched: s.count.unmatched.Load(), ShadowDenied: s.count.shadowDenied.Load(),
		Loaded: s.count.loaded.Load(), LoadFailed: s.count.loadFailed.Load(),
	}
}
