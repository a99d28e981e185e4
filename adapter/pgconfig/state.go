package pgconfig

import (
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/tickgate/tickgate/policy"
)

// state is what a source knows: the last good set, and what went wrong since.
type state struct {
	name string
	log  *slog.Logger

	mu      sync.Mutex
	set     policy.Set
	stats   Stats // Version, Reloads, LastSuccess, LastError, connection
	changed func()
}

func (s *state) init(name string, log *slog.Logger) {
	if log == nil {
		log = slog.Default()
	}
	s.name, s.log = name, log.With("source", name)
	s.stats = Stats{Source: name, Reloads: map[string]uint64{Changed: 0, Unchanged: 0, Rejected: 0, Failed: 0}}
}

// Name returns the name of the source.
func (s *state) Name() string { return s.name }

// Current returns a copy of the last good set; nil before there was one.
func (s *state) Current() policy.Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set.Clone()
}

// Version returns the version of Current; "" before there was one.
func (s *state) Version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats.Version
}

// LastError returns why the last reading was no good; nil if it was good.
func (s *state) LastError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats.LastError
}

// Stats returns a copy of the counters.
func (s *state) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.Policies = len(s.set)
	out.Reloads = maps.Clone(out.Reloads)
	return out
}

// follow makes f the function that is told of changes.
func (s *state) follow(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = f
}

// update changes the counters.
func (s *state) update(f func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.stats)
}

// accept takes a good set.
func (s *state) accept(set policy.Set, version string) {
	s.mu.Lock()
	before, was := s.stats.LastError, s.stats.Version
	result := Changed
	if s.set != nil && s.set.Equal(set) {
		result = Unchanged
	}
	s.set = set
	s.stats.Version, s.stats.LastError, s.stats.LastSuccess = version, nil, time.Now()
	s.stats.Reloads[result]++
	tell := s.changed
	s.mu.Unlock()

	switch {
	case result == Changed:
		s.log.Info("new policies", "version", version, "before", was, "policies", len(set))
	case before != nil:
		s.log.Info("policies are good again, unchanged", "version", version)
	}
	// Another version of the same set is told too: it is what decisions are made by.
	if tell != nil && (result == Changed || version != was) {
		tell()
	}
}

// good notes that the source still says what was read last, which was good.
func (s *state) good() {
	s.mu.Lock()
	before := s.stats.LastError
	s.stats.LastError, s.stats.LastSuccess = nil, time.Now()
	s.mu.Unlock()
	if before != nil {
		s.log.Info("policies are good again, unchanged", "version", s.Version())
	}
}

// fault takes an error and returns it: what was good stays. The same error is
// logged once as long as it lasts.
func (s *state) fault(result string, err error) error {
	s.mu.Lock()
	before, version := s.stats.LastError, s.stats.Version
	s.stats.LastError = err
	s.stats.Reloads[result]++
	s.mu.Unlock()
	if before != nil && before.Error() == err.Error() {
		s.log.Debug("still no new policies", "result", result)
		return err
	}
	s.log.Error("no new policies, the last good ones stay", "result", result, "error", brief(err), "version", version)
	return err
}

// brief is what a log shows of an error that may list a thousand faults.
func brief(err error) string {
	const lines = 5
	text := strings.SplitN(err.Error(), "\n", lines+1)
	if len(text) > lines {
		text[lines] = fmt.Sprintf("and %d more", strings.Count(text[lines], "\n")+1)
	}
	return strings.Join(text, "; ")
}
