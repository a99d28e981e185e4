package layers

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/pgconfig"
	"github.com/tickgate/tickgate/policy"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/logtest"
)

// fake is a source that says what a test wants.
type fake struct {
	name string

	mu      sync.Mutex
	set     policy.Set
	version string
	err     error
	changed func()
}

func (f *fake) Name() string { return f.name }

func (f *fake) Current() policy.Set {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.set.Clone()
}

func (f *fake) Version() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version
}

func (f *fake) LastError() error { return f.err }

func (f *fake) Stats() pgconfig.Stats {
	return pgconfig.Stats{Source: f.name, Version: f.Version(), Reloads: map[string]uint64{}}
}

func (f *fake) Load(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *fake) Run(ctx context.Context, changed func()) {
	f.mu.Lock()
	f.changed = changed
	f.mu.Unlock()
	<-ctx.Done()
}

// say has the source say something else.
func (f *fake) say(version string, limits ...string) {
	f.mu.Lock()
	f.version, f.set = version, set(limits...)
	changed := f.changed
	f.mu.Unlock()
	if changed != nil {
		changed()
	}
}

// set makes a set of "endpoint=limit".
func set(assignments ...string) policy.Set {
	out := policy.Set{}
	for _, a := range assignments {
		endpoint, limit, err := policy.ParseAssign(a)
		if err != nil {
			panic(err)
		}
		out = append(out, policy.Policy{Endpoint: endpoint, Limits: []policy.Limit{limit}})
	}
	return out
}

// texts are the policies of a set, "endpoint=limit from layer".
func texts(s State) (all []string) {
	for _, p := range s.Set {
		all = append(all, p.Endpoint+"="+p.Limits[0].String()+" from "+s.Origins[p.Endpoint])
	}
	return all
}

func TestOrder(t *testing.T) {
	low, high := &fake{name: "low"}, &fake{name: "high"}
	low.say("1", "b=2/s", "c=2/s", "d=2/s", "GET /memory/query=2/h")
	high.say("7", "c=3/s", "d=3/s")
	s := New(Config{
		Defaults: set("a=1/s", "b=1/s"), Sources: []pgconfig.Source{low, high}, Assignments: []string{"d=5/s", "e=5/s"},
		Environment: func(name string) (string, bool) { return "4/h", name == "MEM_RATE_LIMIT_QUERY" }, Log: slog.New(slog.DiscardHandler),
	})
	got, err := s.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, s.State().Set, got)
	require.Equal(t, []string{
		"a=1/s from defaults", "b=2/s from low", "c=3/s from high", "d=5/s from command line",
		"GET /memory/query=4/h name=hour from environment", "e=5/s from command line",
	}, texts(s.State()))
	require.Equal(t, "low@1 high@7", s.Version())

	low.say("2")
	require.NoError(t, s.Reload(t.Context()))
	require.Equal(t, "b=1/s from defaults", texts(s.State())[1], "what is no longer named falls back")
	require.Equal(t, "1/s", set("a=1/s")[0].Limits[0].String())
}

// TestNothingIsNotTheDefault: to a gate nil would be.
func TestNothingIsNotTheDefault(t *testing.T) {
	got, err := New(Config{Log: slog.New(slog.DiscardHandler)}).Load(t.Context())
	require.NoError(t, err)
	require.NotNil(t, got)
	require.Empty(t, got)
}

func TestCreditAndShadowStay(t *testing.T) {
	source := &fake{name: "low"}
	source.say("1", "a=1/s")
	source.set[0].Credit, source.set[0].Shadow = 7, true
	s := New(Config{Sources: []pgconfig.Source{source}, Assignments: []string{"a=9/s"}, Log: slog.New(slog.DiscardHandler)})
	got, err := s.Load(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 7, got[0].Credit)
	require.True(t, got[0].Shadow)
	require.Equal(t, "9/s", got[0].Limits[0].String())
}

// TestRun: what sources say is in force in the gate, named by who said it; what is
// refused is not, is logged once, and counted.
func TestRun(t *testing.T) {
	source := &fake{name: "low"}
	source.say("1", "a=1/s")
	var log logtest.Lines
	s := New(Config{
		Sources: []pgconfig.Source{source}, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Check: func(set policy.Set) error {
			if _, ok := set.Lookup("bad"); ok {
				return errors.New("bad is no endpoint here")
			}
			return nil
		},
	})
	first, err := s.Load(t.Context())
	require.NoError(t, err)
	var mu sync.Mutex
	var who []string
	gate, err := tickgate.New(tickgate.Config{Policies: first, Audit: func(c tickgate.Change) {
		mu.Lock()
		defer mu.Unlock()
		who = append(who, c.Who)
	}})
	require.NoError(t, err)
	source.say("2", "a=2/s") // between the two
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		s.Run(ctx, gate)
		close(ended)
	}()
	in := func(limit string) func() bool {
		return func() bool { return gate.Policies()[0].Limits[0].String() == limit }
	}
	eventually(t, in("2/s"))
	eventually(t, func() bool { source.mu.Lock(); defer source.mu.Unlock(); return source.changed != nil })
	source.say("3", "a=3/s")
	eventually(t, in("3/s"))

	source.say("4", "a=4/s", "bad=1/s")
	eventually(t, func() bool { return s.State().LastError != nil })
	require.Error(t, s.Reload(ctx))
	require.True(t, in("3/s")())
	stats := s.Stats()
	require.Equal(t, "in force", stats[1].Source)
	require.GreaterOrEqual(t, stats[1].Reloads[pgconfig.Rejected], uint64(2))
	require.EqualValues(t, 3, stats[1].Reloads[pgconfig.Changed])
	require.Equal(t, "low@3", stats[1].Version, "what is in force, not what was refused")
	require.Equal(t, 1, strings.Count(log.String(), "the last good ones stay"))
	source.say("5", "a=5/s")
	eventually(t, in("5/s"))
	eventually(t, func() bool { return s.State().LastError == nil }) // it is noted after it is in force

	stop()
	<-ended
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"low@2", "low@3", "low@5"}, who)
}

// TestOneFails: a source that is good is in force although another one is not, but not
// at the beginning.
func TestOneFails(t *testing.T) {
	good, bad := &fake{name: "good"}, &fake{name: "bad", err: errors.New("away")}
	good.say("1", "a=1/s")
	s := New(Config{Sources: []pgconfig.Source{bad, good}, Log: slog.New(slog.DiscardHandler)})
	_, err := s.Load(t.Context())
	require.ErrorContains(t, err, "bad: away")
	require.ErrorContains(t, s.Reload(t.Context()), "bad: away")
	require.Len(t, s.State().Set, 1)
}

func eventually(t *testing.T, happens func() bool) {
	t.Helper()
	require.Eventually(t, happens, 10*time.Second, time.Millisecond)
}
