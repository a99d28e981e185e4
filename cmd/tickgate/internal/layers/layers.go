// Package layers puts the policies of a service together from where they are kept, and
// keeps a gate in step with them:
//
//	command line   assignments, over all
//	environment    policy.FromEnv
//	sources        a file over a database, say
//	defaults
//
// A layer that names an endpoint says everything about it, but for the environment, which
// changes single limits, and the command line, which leaves credit and shadow mode as they
// are. What is put together is judged as a whole, also by what serves it, and comes into
// force as a whole; on any fault what was in force stays.
package layers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/pgconfig"
	"github.com/tickgate/tickgate/policy"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/policyfile"
)

// Names of the layers that are no source.
const (
	Defaults    = "defaults"
	Environment = "environment"
	CommandLine = "command line"
)

// Config says what the layers are.
type Config struct {
	Defaults    policy.Set
	Sources     []pgconfig.Source                // the lowest first
	Environment func(name string) (string, bool) // nil: none
	Assignments []string                         // ENDPOINT=LIMIT, as policyfile.Override has them

	// Check says what is wrong with a set for those who serve by it, beside what a gate
	// says. nil: nothing.
	Check func(policy.Set) error

	Log *slog.Logger
}

// Stack is the layers. Its methods may be called by any number of goroutines at once.
type Stack struct {
	cfg Config

	composing sync.Mutex     // one composition at a time
	gate      *tickgate.Gate // while Run runs
	used      []string       // versions of the sources in force

	mu    sync.Mutex
	state State
}

// State is what is in force.
type State struct {
	Set     policy.Set
	Version string            // of all sources, "postgresql@12 file@3f2a9c01d2e4"
	Origins map[string]string // endpoint to the layer that its policy is from

	pgconfig.Stats // of putting it together: Changed is applied, Rejected refused
}

// New returns the layers; nothing is read yet.
func New(cfg Config) *Stack {
	s := &Stack{cfg: cfg}
	s.state.Reloads = map[string]uint64{pgconfig.Changed: 0, pgconfig.Rejected: 0}
	s.state.Source = "in force"
	return s
}

// Load reads every source, all at once, and returns what they say together, for a gate.
// It fails if any of them does.
func (s *Stack) Load(ctx context.Context) (policy.Set, error) {
	if err := s.Reload(ctx); err != nil {
		return nil, err
	}
	return s.State().Set, nil
}

// Reload reads every source now. While Run runs, it applies what is new before it
// returns. A source that is good is applied although another one is not.
func (s *Stack) Reload(ctx context.Context) error {
	faults := make([]error, len(s.cfg.Sources))
	var all sync.WaitGroup
	for i, source := range s.cfg.Sources {
		all.Go(func() {
			if err := source.Load(ctx); err != nil {
				faults[i] = fmt.Errorf("%s: %w", source.Name(), err)
			}
		})
	}
	all.Wait()
	return errors.Join(errors.Join(faults...), s.refresh())
}

// Run keeps a gate in step until ctx is done, and returns when all that it started has
// ended. Call it once at a time.
func (s *Stack) Run(ctx context.Context, gate *tickgate.Gate) {
	s.follow(gate)
	defer s.follow(nil)
	_ = s.refresh()
	wake := make(chan struct{}, 1)
	changed := func() {
		select {
		case wake <- struct{}{}:
		default: // what is put together next sees this change too
		}
	}
	var all sync.WaitGroup
	defer all.Wait()
	for _, source := range s.cfg.Sources {
		all.Go(func() { source.Run(ctx, changed) })
	}
	for {
		select {
		case <-wake:
			_ = s.refresh()
		case <-ctx.Done():
			return
		}
	}
}

func (s *Stack) follow(gate *tickgate.Gate) {
	s.composing.Lock()
	defer s.composing.Unlock()
	s.gate = gate
}

// refresh puts together what the sources say now, and puts it into force if it is
// something else than before.
func (s *Stack) refresh() error {
	s.composing.Lock()
	defer s.composing.Unlock()
	used := make([]string, len(s.cfg.Sources))
	set, origins, err := s.compose(used)
	if err != nil {
		return s.refuse(err)
	}
	who, version := s.whose(used)
	if s.gate != nil && !s.gate.Policies().Equal(set) {
		if err := s.gate.As(who).Apply(set); err != nil {
			return s.refuse(err)
		}
	}
	s.used = used
	s.accept(set, origins, version)
	return nil
}

// compose puts the layers together, notes the version of each source, and judges.
func (s *Stack) compose(used []string) (set policy.Set, origins map[string]string, err error) {
	set, origins = policy.Set{}, map[string]string{} // not nil: to a gate that would be the default
	places := map[string]int{}
	over := func(name string, layer policy.Set) {
		for _, p := range layer {
			at, known := places[p.Endpoint]
			if !known {
				at = len(set)
				places[p.Endpoint] = at
				set = append(set, p)
			}
			set[at] = p
			origins[p.Endpoint] = name
		}
	}
	over(Defaults, s.cfg.Defaults.Clone())
	for i, source := range s.cfg.Sources {
		used[i] = source.Version() // before Current: at worst it is the one before
		over(source.Name(), source.Current())
	}
	if s.cfg.Environment != nil {
		below := set
		if set, err = policy.FromEnv(below, s.cfg.Environment); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", Environment, err)
		}
		mark(origins, below, set, Environment)
	}
	below := set
	if set, err = policyfile.Override(below, s.cfg.Assignments); err != nil {
		return nil, nil, err
	}
	mark(origins, below, set, CommandLine)
	if err = set.Validate(); err == nil && s.cfg.Check != nil {
		err = s.cfg.Check(set)
	}
	return set, origins, err
}

// mark notes what a layer made another.
func mark(origins map[string]string, before, after policy.Set, layer string) {
	for i, p := range after { // layers keep the order, and add at the end
		if i >= len(before) || !p.Equal(before[i]) {
			origins[p.Endpoint] = layer
		}
	}
}

// whose returns the versions of all sources, and who is to be named for a change: the
// sources with another version than before, else all.
func (s *Stack) whose(used []string) (who, version string) {
	var all, some []string
	for i, source := range s.cfg.Sources {
		if used[i] == "" {
			continue
		}
		at := source.Name() + "@" + used[i]
		all = append(all, at)
		if s.used == nil || s.used[i] != used[i] {
			some = append(some, at)
		}
	}
	switch {
	case all == nil:
		return Defaults, Defaults
	case some == nil:
		some = all
	}
	return strings.Join(some, " "), strings.Join(all, " ")
}
