package pgconfig

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// told is a source that says what it is told to.
type told struct {
	state
	mu2     sync.Mutex
	next    policy.Set
	version string
	err     error
}

func newTold(t testing.TB, name, version string, set policy.Set) *told {
	s := &told{next: set, version: version}
	s.init(name, quiet(t))
	return s
}

func (s *told) say(version string, set policy.Set, err error) {
	s.mu2.Lock()
	s.version, s.next, s.err = version, set, err
	s.mu2.Unlock()
	_ = s.Load(context.Background())
}

func (s *told) Load(context.Context) error {
	s.mu2.Lock()
	defer s.mu2.Unlock()
	if s.err != nil {
		return s.fault(Failed, s.err)
	}
	s.accept(s.next, s.version)
	return nil
}

func (s *told) Run(ctx context.Context, changed func()) {
	s.follow(changed)
	<-ctx.Done()
}

func one(endpoint string, tokens int64) policy.Policy {
	return policy.Policy{Endpoint: endpoint, Limits: []policy.Limit{{Tokens: tokens, Per: time.Second}}}
}

// follows runs a stack on a gate made of what it loads, in fake time.
func follows(t *testing.T, c Sources, test func(t *testing.T, s *Stack, gate *tickgate.Gate, audit *[]tickgate.Change)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c.Log = quiet(t)
		s, err := Compose(c)
		require.NoError(t, err)
		set, err := s.Load(t.Context())
		require.NoError(t, err)
		var audit []tickgate.Change
		gate, err := tickgate.New(tickgate.Config{Policies: set, MaxKeys: 100, Clock: clock.NewManual(0), Wall: clock.NewManualWall(0),
			Audit: func(c tickgate.Change) {
				audit = append(audit, c)
				_, _, _, _ = s.Origins(), s.Version(), s.LastError(), s.Stats() // a hook may ask
			}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			s.Run(ctx, gate)
			close(done)
		}()
		synctest.Wait()
		test(t, s, gate, &audit)
		cancel()
		<-done
	})
}

func TestLayersInTheirOrder(t *testing.T) {
	pg := newTold(t, "postgresql", "7", policy.Set{one("a", 2), one("b", 2), one("c", 2)})
	file := newTold(t, "file", "ab12", policy.Set{one("b", 3), one(policy.MemoryIngest, 3)})
	env := map[string]string{"MEM_RATE_LIMIT_INGEST": "4/s", "MEM_RATE_LIMIT_QUERY": "4/s"}
	follows(t, Sources{
		Defaults: policy.Set{one("a", 1), one("d", 1), one(policy.DefaultEndpoint, 1)}, PostgreSQL: pg, File: file,
		Environment: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}, func(t *testing.T, s *Stack, gate *tickgate.Gate, audit *[]tickgate.Change) {
		got := map[string]int64{}
		for _, p := range gate.Policies() {
			got[p.Endpoint] = p.Limits[0].Tokens
		}
		require.Equal(t, map[string]int64{"a": 2, "b": 3, "c": 2, "d": 1, "default": 1, policy.MemoryIngest: 4, policy.MemoryQuery: 4}, got)
		require.Equal(t, map[string]string{"a": "postgresql", "b": "file", "c": "postgresql", "d": "defaults", "default": "defaults",
			policy.MemoryIngest: "environment", policy.MemoryQuery: "environment"}, s.Origins())
		require.Equal(t, "postgresql@7 file@ab12", s.Version())
		require.Empty(t, *audit)

		pg.say("8", policy.Set{one("a", 5), one("b", 5)}, nil)
		synctest.Wait()
		require.Equal(t, "postgresql@8", (*audit)[0].Who)
		require.Equal(t, []string{"defaults", "file", ""}, []string{s.Origins()["d"], s.Origins()["b"], s.Origins()["c"]}, "c is no longer named")
		p, _ := gate.Policies().Lookup("a")
		require.EqualValues(t, 5, p.Limits[0].Tokens)

		pg.say("9", policy.Set{one("a", 5), one("b", 6)}, nil)
		synctest.Wait()
		require.Len(t, *audit, 1, "the file hides what changed")
		require.Equal(t, "postgresql@9 file@ab12", s.Version())
		pg.say("10", policy.Set{one("a", 5), one("b", 6)}, nil)
		synctest.Wait()
		require.Equal(t, "postgresql@10 file@ab12", s.Version(), "also of the same set")
		file.say("cd34", policy.Set{one(policy.MemoryIngest, 3)}, nil)
		synctest.Wait()
		require.Equal(t, "file@cd34", (*audit)[1].Who)
		require.Equal(t, s.Current(), gate.Policies())
		require.Equal(t, []string{"postgresql", "file", "in force"}, []string{s.Stats()[0].Source, s.Stats()[1].Source, s.Stats()[2].Source})
		require.EqualValues(t, 3, s.Stats()[2].Reloads[Changed])
	})
}

func TestStartWithAndWithoutASource(t *testing.T) {
	down := errors.New("connection refused")
	pg := newTold(t, "postgresql", "1", policy.Set{one("a", 2)})
	pg.say("", nil, down)
	s, err := Compose(Sources{PostgreSQL: pg, Log: quiet(t)})
	require.NoError(t, err)
	set, err := s.Load(t.Context())
	require.EqualError(t, err, "postgresql: connection refused")
	require.Nil(t, set)

	follows(t, Sources{PostgreSQL: pg, StartWithout: true}, func(t *testing.T, s *Stack, gate *tickgate.Gate, audit *[]tickgate.Change) {
		require.Equal(t, policy.Default(), gate.Policies())
		require.EqualError(t, s.LastError(), "postgresql: connection refused")
		require.EqualError(t, s.Reload(context.Background()), "postgresql: connection refused")
		pg.say("1", policy.Set{one("a", 2)}, nil)
		synctest.Wait()
		require.Len(t, gate.Policies(), 5)
		require.NoError(t, s.LastError())
		require.Equal(t, "postgresql@1", (*audit)[0].Who)
	})
}

// The environment fits the defaults, and not what the table says later.
func TestEnvironmentThatDoesNotFit(t *testing.T) {
	pg := newTold(t, "postgresql", "1", policy.Set{one("a", 2)})
	follows(t, Sources{PostgreSQL: pg, Environment: func(name string) (string, bool) {
		return "10", name == "MEM_RATE_LIMIT_BURST"
	}}, func(t *testing.T, s *Stack, gate *tickgate.Gate, _ *[]tickgate.Change) {
		full := policy.Policy{Endpoint: policy.MemoryQuery}
		for n := range int64(8) {
			full.Limits = append(full.Limits, policy.Limit{Tokens: n + 1, Per: time.Second})
		}
		before := gate.Policies()
		pg.say("2", policy.Set{full}, nil)
		synctest.Wait()
		require.ErrorContains(t, s.LastError(), "environment: policies[")
		require.ErrorContains(t, s.LastError(), "must be at most 8 limits")
		require.Equal(t, before, gate.Policies())
		require.Equal(t, "postgresql@1", s.Version())
		pg.say("3", policy.Set{one("a", 3)}, nil)
		synctest.Wait()
		require.NoError(t, s.LastError())
	})
}

// A gate that was made of other policies, or given some by hand, gets those of the
// stack when it begins, in the name of all sources.
func TestGateOfOtherPolicies(t *testing.T) {
	s, err := Compose(Sources{PostgreSQL: newTold(t, "postgresql", "1", policy.Set{one("a", 2)}), Log: quiet(t)})
	require.NoError(t, err)
	_, err = s.Load(t.Context())
	require.NoError(t, err)
	var audit []tickgate.Change
	gate, err := tickgate.New(tickgate.Config{MaxKeys: 10, Audit: func(c tickgate.Change) { audit = append(audit, c) }})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Run(ctx, gate)
	require.Equal(t, s.Current(), gate.Policies())
	require.Equal(t, "postgresql@1", audit[0].Who)
}

func TestReloadAppliesBeforeItReturns(t *testing.T) {
	pg := newTold(t, "postgresql", "1", policy.Set{one("a", 2)})
	file := newTold(t, "file", "1", policy.Set{one("b", 2)})
	follows(t, Sources{PostgreSQL: pg, File: file}, func(t *testing.T, s *Stack, gate *tickgate.Gate, _ *[]tickgate.Change) {
		pg.mu2.Lock()
		pg.next, pg.version = policy.Set{one("a", 9)}, "2"
		pg.mu2.Unlock()
		file.mu2.Lock()
		file.err = errors.New("gone")
		file.mu2.Unlock()
		require.EqualError(t, s.Reload(context.Background()), "file: gone")
		p, _ := gate.Policies().Lookup("a")
		require.EqualValues(t, 9, p.Limits[0].Tokens, "although the file is at fault")
		p, _ = gate.Policies().Lookup("b")
		require.EqualValues(t, 2, p.Limits[0].Tokens, "and stays as it was")
	})
}

// The last layer is over all others, and says of its own accord what it leaves.
func TestLastLayer(t *testing.T) {
	pg := newTold(t, "postgresql", "7", policy.Set{one("a", 2), one("b", 2), one("c", 2)})
	fault := error(nil)
	follows(t, Sources{
		Defaults: policy.Set{one("d", 1)}, PostgreSQL: pg,
		Environment: func(name string) (string, bool) { return "4/s", name == "MEM_RATE_LIMIT_QUERY" },
		Last: Layer{Name: "command line", Over: func(below policy.Set) (policy.Set, error) {
			set := policy.Set{one("new", 9)}
			for _, p := range below.Clone() {
				switch p.Endpoint {
				case "b":
					p.Limits[0].Tokens = 9
				case "c":
					continue
				}
				set = append(set, p)
			}
			return set, fault
		}},
	}, func(t *testing.T, s *Stack, gate *tickgate.Gate, audit *[]tickgate.Change) {
		require.Equal(t, map[string]string{"new": "command line", "a": "postgresql", "b": "command line", "d": "defaults",
			policy.MemoryQuery: "environment"}, s.Origins())
		require.EqualValues(t, 2, pg.Current()[1].Limits[0].Tokens, "the source keeps its own")

		pg.say("8", policy.Set{one("a", 3), one("b", 3)}, nil)
		synctest.Wait()
		require.Len(t, *audit, 1)
		require.Equal(t, "command line", s.Origins()["b"])
		p, _ := gate.Policies().Lookup("a")
		require.EqualValues(t, 3, p.Limits[0].Tokens)

		fault = errors.New("--set: no")
		before := gate.Policies()
		pg.say("9", policy.Set{one("a", 4)}, nil)
		synctest.Wait()
		require.EqualError(t, s.LastError(), "what the sources say together is refused: --set: no")
		require.Equal(t, before, gate.Policies())
	})
}

// What a last layer makes is judged: it may know less than a gate does.
func TestLastLayerIsJudged(t *testing.T) {
	for reason, made := range map[string]policy.Set{"must not be empty": {{Endpoint: ""}}, "": nil} {
		s, err := Compose(Sources{Log: quiet(t), Last: Layer{Name: "last", Over: func(policy.Set) (policy.Set, error) { return made, nil }}})
		require.NoError(t, err)
		set, err := s.Load(t.Context())
		if reason != "" {
			require.ErrorContains(t, err, reason)
			continue
		}
		require.NoError(t, err)
		require.NotNil(t, set, "to a gate nil would be the default")
		require.Empty(t, set)
	}
}

// A set that those who serve by it refuse is not in force; that is logged once, and
// counted.
func TestCheck(t *testing.T) {
	check := func(set policy.Set) error {
		if _, ok := set.Lookup("bad"); ok {
			return errors.New("bad is no endpoint here")
		}
		return nil
	}
	bad := newTold(t, "file", "1", policy.Set{one("bad", 1)})
	s, err := Compose(Sources{Defaults: policy.Set{}, File: bad, Check: check, Log: quiet(t)})
	require.NoError(t, err)
	_, err = s.Load(t.Context())
	require.EqualError(t, err, "what the sources say together is refused: bad is no endpoint here")

	var log book
	pg := newTold(t, "postgresql", "1", policy.Set{one("a", 1)})
	follows(t, Sources{Defaults: policy.Set{}, PostgreSQL: pg, Check: check}, func(t *testing.T, s *Stack, gate *tickgate.Gate, audit *[]tickgate.Change) {
		s.log = log.logger()
		pg.say("2", policy.Set{one("a", 2)}, nil)
		synctest.Wait()
		pg.say("3", policy.Set{one("a", 3), one("bad", 1)}, nil)
		synctest.Wait()
		require.Error(t, s.Reload(t.Context()), "still")
		require.EqualValues(t, 2, gate.Policies()[0].Limits[0].Tokens)
		require.Equal(t, "postgresql@2", s.Version(), "what is in force, not what was refused")
		of := s.Stats()[1]
		require.Equal(t, "in force", of.Source)
		require.EqualValues(t, 2, of.Reloads[Changed])
		require.EqualValues(t, 2, of.Reloads[Rejected])
		require.ErrorContains(t, of.LastError, "bad is no endpoint here")
		require.Equal(t, 1, log.count("no new policies, the last good ones stay"))
		pg.say("5", policy.Set{one("a", 5)}, nil)
		synctest.Wait()
		require.NoError(t, s.LastError())
		require.Equal(t, []string{"postgresql@2", "postgresql@5"}, []string{(*audit)[0].Who, (*audit)[1].Who})
	})
}

func TestComposeFaults(t *testing.T) {
	_, err := Compose(Sources{
		Defaults: policy.Set{{Endpoint: ""}},
		Last:     Layer{Over: func(below policy.Set) (policy.Set, error) { return below, nil }},
	})
	require.ErrorContains(t, err, "Last.Name")
	require.ErrorContains(t, err, "must not be empty", "both")
	_, err = Compose(Sources{Environment: func(string) (string, bool) { return "x", true }})
	require.ErrorContains(t, err, "MEM_RATE_LIMIT_INGEST")
	s, err := Compose(Sources{Defaults: policy.Set{}, Log: quiet(t)})
	require.NoError(t, err)
	set, err := s.Load(t.Context())
	require.NoError(t, err)
	require.NotNil(t, set)
	require.Empty(t, set, "which denies everything, on purpose")
	require.Equal(t, "defaults", s.Version())
}
