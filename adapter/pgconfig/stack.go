package pgconfig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

// Names of the layers that are no [Source], and of what all make together.
const (
	defaultsName    = "defaults"
	environmentName = "environment"
	stackName       = "in force"
)

// Sources are the layers of a [Stack], each over the ones above it in this list.
type Sources struct {
	// Defaults are the lowest layer. nil: policy.Default(). An empty set that is not nil
	// has no policies: endpoints that no layer names are then denied.
	Defaults policy.Set
	// PostgreSQL is over the defaults; nil for none.
	PostgreSQL Source
	// File is over PostgreSQL; nil for none.
	File Source
	// Environment is over the file: the variables of policy.FromEnv, such as os.LookupEnv
	// has them. nil for none.
	Environment func(name string) (string, bool)
	// Last is over all; without Over there is none.
	Last Layer

	// Check says what else is wrong with a composed set, beside what a gate says: what
	// those need that serve by it. An error keeps what was in force. It is called for
	// each set that is to come into force, by one goroutine at a time, and must not call
	// Load, Reload or Run of the stack. nil: nothing is.
	Check func(policy.Set) error

	// StartWithout lets Load succeed where a source fails: the layers below it are in
	// force, which may allow more, until the source is back. Otherwise Load fails.
	StartWithout bool

	Log *slog.Logger // nil: slog.Default()
}

// Target is what a [Stack] applies policies to: a [*tickgate.Gate].
type Target interface {
	As(who string) tickgate.Operator
	Policies() policy.Set
}

// Stack composes sources into one set and keeps a gate in step with it. All methods
// may be called from any goroutine.
type Stack struct {
	state   // of the composed set that is in force
	cfg     Sources
	sources []Source // the lowest first

	composing sync.Mutex // one composition at a time
	gate      Target     // while Run runs
	used      []string   // versions of sources in force

	origins map[string]string // under the state's mutex: an audit hook may ask for them
}

// Compose returns a stack of the sources. The error lists every fault of the
// defaults, and of the environment applied to them. Last and Check are not called yet.
func Compose(c Sources) (*Stack, error) {
	if c.Defaults == nil {
		c.Defaults = policy.Default()
	}
	c.Defaults = c.Defaults.Clone()
	var faults []error
	if c.Last.Over != nil && c.Last.Name == "" {
		faults = append(faults, &policy.ConfigError{Field: "Last.Name", Reason: "is required: it stands for the layer in Origins"})
	}
	err := c.Defaults.Validate()
	if err == nil && c.Environment != nil {
		_, err = policy.FromEnv(c.Defaults, c.Environment)
	}
	if err := errors.Join(append(faults, err)...); err != nil {
		return nil, err
	}
	s := &Stack{cfg: c}
	s.init(stackName, c.Log)
	for _, source := range []Source{c.PostgreSQL, c.File} {
		if source != nil {
			s.sources = append(s.sources, source)
		}
	}
	return s, nil
}

// Load reads every source, all at once, and returns the composed set, for
// tickgate.New. See [Sources].StartWithout for what happens where one fails.
func (s *Stack) Load(ctx context.Context) (policy.Set, error) {
	err := s.load(ctx)
	if err != nil && !s.cfg.StartWithout {
		return nil, err
	}
	if err := s.refresh(); err != nil {
		return nil, err
	}
	return s.Current(), nil
}

// load reads every source and joins the faults.
func (s *Stack) load(ctx context.Context) error {
	faults := make([]error, len(s.sources))
	var all sync.WaitGroup
	for i, source := range s.sources {
		all.Go(func() {
			if err := source.Load(ctx); err != nil {
				faults[i] = fmt.Errorf("%s: %w", source.Name(), err)
			}
		})
	}
	all.Wait()
	return errors.Join(faults...)
}

// Reload reads every source now and, while Run runs, applies what changed before it
// returns: for a signal such as SIGHUP. Faults are returned, and leave in force what
// was; a source that is good is applied although another one is not.
func (s *Stack) Reload(ctx context.Context) error {
	return errors.Join(s.load(ctx), s.refresh())
}

// Run keeps the gate in step with the sources until ctx is done, and returns when
// all have stopped. What changed since Load, or since the gate was made, is applied
// first. Call it once at a time.
func (s *Stack) Run(ctx context.Context, gate Target) {
	s.composing.Lock()
	s.gate = gate
	s.composing.Unlock()
	_ = s.refresh()
	wake := make(chan struct{}, 1)
	changed := func() {
		select {
		case wake <- struct{}{}:
		default: // what is composed next sees this change too
		}
	}
	var all sync.WaitGroup
	for _, source := range s.sources {
		all.Go(func() { source.Run(ctx, changed) })
	}
	for ctx.Err() == nil {
		select {
		case <-wake:
			_ = s.refresh()
		case <-ctx.Done():
		}
	}
	all.Wait()
	s.composing.Lock()
	s.gate = nil
	s.composing.Unlock()
}

// refresh composes what the sources say now and puts it into force, if it is another
// set than before.
func (s *Stack) refresh() error {
	s.composing.Lock()
	defer s.composing.Unlock()
	made, used, err := s.compose()
	who, version := s.whose(used)
	if err == nil && s.gate != nil && !s.gate.Policies().Equal(made.set) {
		err = s.gate.As(who).Apply(made.set)
	}
	if err != nil {
		return s.fault(Rejected, fmt.Errorf("what the sources say together is refused: %w", err))
	}
	s.used = used
	s.mu.Lock()
	s.origins = made.origins
	s.mu.Unlock()
	s.accept(made.set, version)
	return nil
}

// compose puts the layers together and judges them, and returns the version of each
// source.
func (s *Stack) compose() (made layers, used []string, err error) {
	made.over(defaultsName, s.cfg.Defaults)
	used = make([]string, len(s.sources))
	for i, source := range s.sources {
		used[i] = source.Version() // before Current: at worst it is the one before
		if set := source.Current(); set != nil {
			made.over(source.Name(), set)
		}
	}
	if s.cfg.Environment != nil {
		set, err := policy.FromEnv(made.set, s.cfg.Environment)
		if err != nil {
			return made, used, fmt.Errorf("%s: %w", environmentName, err)
		}
		made.become(environmentName, set)
	}
	if last := s.cfg.Last; last.Over != nil {
		set, err := last.Over(made.set)
		if err != nil {
			return made, used, err
		}
		made.become(last.Name, set)
	}
	if err := made.set.Validate(); err != nil {
		return made, used, err
	}
	if s.cfg.Check != nil {
		err = s.cfg.Check(made.set)
	}
	return made, used, err
}

// whose returns the versions of all sources, and who is to be named for the change:
// the sources whose version is another than the one in force, else all.
func (s *Stack) whose(used []string) (who, version string) {
	var all, some []string
	for i, source := range s.sources {
		if used[i] == "" {
			continue
		}
		at := source.Name() + "@" + used[i]
		all = append(all, at)
		if s.used == nil || s.used[i] != used[i] {
			some = append(some, at)
		}
	}
	if all == nil {
		all = []string{defaultsName}
	}
	if some == nil {
		some = all
	}
	return strings.Join(some, " "), strings.Join(all, " ")
}

// LastError returns everything that is wrong now, with the name of the source: why
// the composed set is not in force, and the LastError of each source; nil if all is good.
func (s *Stack) LastError() error {
	var faults []error
	if err := s.state.LastError(); err != nil {
		faults = append(faults, err)
	}
	for _, source := range s.sources {
		if err := source.LastError(); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", source.Name(), err))
		}
	}
	return errors.Join(faults...)
}

// Stats returns the counters of each source, the lowest first, and last those of the
// composition, named "in force": Changed is applied, Rejected refused, by the
// environment, by Last, by Check or by the gate.
func (s *Stack) Stats() []Stats {
	var all []Stats
	for _, source := range s.sources {
		all = append(all, source.Stats())
	}
	return append(all, s.state.Stats())
}

// Origins returns, for each endpoint of Current, the name of the layer that its policy
// is from: "defaults", "postgresql", "file", "environment", or that of Last. It is a copy.
func (s *Stack) Origins() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.origins)
}
