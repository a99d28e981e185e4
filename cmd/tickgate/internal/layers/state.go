package layers

import (
	"fmt"
	"time"

	"github.com/tickgate/tickgate/adapter/pgconfig"
	"github.com/tickgate/tickgate/policy"
)

// State returns what is in force. It is a copy but for Origins and Reloads, which are
// not changed any more.
func (s *Stack) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.state
	out.Set = out.Set.Clone()
	return out
}

// Version returns the versions of all sources in force.
func (s *Stack) Version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Version
}

// Stats returns the counters of each source, the lowest first, and last those of putting
// them together, named "in force": Changed is applied, Rejected refused.
func (s *Stack) Stats() []pgconfig.Stats {
	var all []pgconfig.Stats
	for _, source := range s.cfg.Sources {
		all = append(all, source.Stats())
	}
	now := s.State()
	now.Stats.Version, now.Stats.Policies = now.Version, len(now.Set)
	return append(all, now.Stats)
}

// accept takes a set that is in force now.
func (s *Stack) accept(set policy.Set, origins map[string]string, version string) {
	s.mu.Lock()
	was := s.state
	now := State{Set: set, Version: version, Origins: origins, Stats: was.Stats}
	now.LastError, now.LastSuccess = nil, time.Now()
	if was.Set == nil || !was.Set.Equal(set) {
		now.Reloads = count(was.Reloads, pgconfig.Changed)
	}
	s.state = now
	s.mu.Unlock()
	if was.LastError != nil {
		s.cfg.Log.Info("policies are good again", "version", version)
	}
}

// refuse notes why what the layers say together is not in force, and returns it. The
// same fault is logged once as long as it lasts.
func (s *Stack) refuse(err error) error {
	err = fmt.Errorf("what the sources say together is refused: %w", err)
	s.mu.Lock()
	was := s.state.LastError
	s.state.LastError = err
	s.state.Reloads = count(s.state.Reloads, pgconfig.Rejected)
	version := s.state.Version
	s.mu.Unlock()
	if was == nil || was.Error() != err.Error() {
		s.cfg.Log.Error("no new policies, the last good ones stay", "source", "in force", "error", err, "version", version)
	}
	return err
}

// count returns a copy of counters with one more.
func count(was map[string]uint64, result string) map[string]uint64 {
	now := map[string]uint64{}
	for name, n := range was {
		now[name] = n
	}
	now[result]++
	return now
}
