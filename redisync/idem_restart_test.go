package redisync

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

func idemStore(t *testing.T, s *redistest.Server, lease time.Duration) *idem.Store {
	store, err := idem.NewStore(idem.Config{Backend: newIdem(t, s, IdemConfig{}), Lease: lease})
	require.NoError(t, err)
	return store
}

// A process ends, with work done and work under way, and another takes its place.
func TestIdemProcessRestarts(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	const lease = 300 * time.Millisecond
	first := idemStore(t, s, lease)
	var tokens []idem.Token
	for n := range 3 {
		claim, err := first.Begin(t.Context(), idemKey(n), idemPrintA)
		require.NoError(t, err)
		require.True(t, claim.Acquired)
		tokens = append(tokens, claim.Token)
	}
	result := idem.Result{Status: 202, Body: []byte("job 7")}
	require.NoError(t, first.Complete(t.Context(), tokens[0], result))

	second := idemStore(t, s, lease)
	claim, err := second.Begin(t.Context(), idemKey(0), idemPrintA)
	require.NoError(t, err)
	require.Equal(t, idem.Claim{Result: result}, claim)
	_, err = second.Begin(t.Context(), idemKey(0), idemPrintB)
	require.ErrorIs(t, err, idem.ErrMismatch)
	require.NoError(t, second.Complete(t.Context(), tokens[1], result), "a token is the key's, not the process's")

	// Of what was under way the lease ends, and one of the new ones gets it.
	third := idemStore(t, s, idemLong)
	var acquired, asked int
	require.Eventually(t, func() bool {
		for _, store := range []*idem.Store{third, third, third} {
			claim, err := store.Begin(t.Context(), idemKey(2), idemPrintA)
			asked++
			if err == nil && claim.Acquired {
				require.Greater(t, claim.Token.Fence(), tokens[2].Fence())
				acquired++
			}
		}
		return acquired > 0
	}, idemWithin, idemPoll)
	require.Equal(t, 1, acquired, "of %d", asked)
	require.ErrorIs(t, first.Complete(t.Context(), tokens[2], result), idem.ErrLost, "it lived on, and is too late")
}

// idemJobs are jobs each of which is to be done once, whatever happens meanwhile.
type idemJobs struct {
	*testing.T
	backends []*Idem
	made     []atomic.Int32
	done     atomic.Int32
	wg       sync.WaitGroup
}

// startJobs has n jobs done, by 16 callers each of which asks until it is answered.
func startJobs(t *testing.T, n int, backends ...*Idem) *idemJobs {
	j := &idemJobs{T: t, backends: backends, made: make([]atomic.Int32, n)}
	t.Cleanup(j.wg.Wait) // whoever fails first tells what it waited for
	for g := range 16 {
		j.wg.Go(func() {
			b := backends[g%len(backends)]
			for n := g; n < len(j.made); n += 16 {
				e := j.begin(b, n)
				if e.State != idem.Acquired {
					t.Errorf("key %d is %v for its only caller", n, e.State)
					continue
				}
				j.made[n].Add(1)
				j.retry(n, func() error { return b.Complete(t.Context(), e.Token, fmt.Append(nil, n), idemLong) })
				j.done.Add(1)
			}
		})
	}
	return j
}

func (j *idemJobs) retry(n int, call func() error) {
	for end := time.Now().Add(3 * idemWithin); ; {
		err := call()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			j.Errorf("key %d: %v", n, err)
			return
		}
		sleep(j.Context(), idemPoll) // where there is no connection, it fails at once
	}
}

func (j *idemJobs) begin(b *Idem, n int) (e idem.Entry) {
	j.retry(n, func() (err error) {
		e, err = b.Begin(j.Context(), idemKey(n), idemPrintA, idemLong)
		return err
	})
	return e
}

// waitPart waits until a part of the jobs, in eighths, is done.
func (j *idemJobs) waitPart(eighths int) {
	j.Helper()
	require.Eventually(j, func() bool { return int(j.done.Load()) >= len(j.made)*eighths/8 }, 3*idemWithin, time.Millisecond)
}

// check asserts that each job was done once, and is known to be.
func (j *idemJobs) check() {
	j.Helper()
	j.wg.Wait()
	for n := range j.made {
		require.EqualValues(j, 1, j.made[n].Load(), "job %d", n)
		e := j.begin(j.backends[n%len(j.backends)], n)
		require.Equal(j, idem.Done, e.State, "key %d", n)
		require.Equal(j, fmt.Sprint(n), string(e.Value))
	}
	for _, b := range j.backends {
		j.Logf("%+v", b.Stats())
	}
}

// Redis is killed while it is asked, and comes back with what it had written.
func TestIdemKilledWithAOF(t *testing.T) {
	s := redistest.Start(t, redistest.Options{AOF: true})
	jobs := 2000
	if testing.Short() {
		jobs = 300
	}
	j := startJobs(t, jobs, newIdem(t, s, IdemConfig{}), newIdem(t, s, IdemConfig{}))
	for i := range 2 {
		j.waitPart(2 + 2*i)
		s.Kill()
		s.Restart()
	}
	j.wg.Wait()
	s.Kill()
	s.Restart()
	j.check()
}

// What Redis lost is lost, and its owners are told.
func TestIdemKilledWithoutAOF(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	b := newIdem(t, s, IdemConfig{Timeout: idemWithin})
	token := idemAcquire(t, b, 1, idemLong)
	s.Kill()
	s.Restart()
	require.ErrorIs(t, b.Complete(t.Context(), token, []byte("v"), idemLong), idem.ErrLost)
	again := idemAcquire(t, b, 1, idemLong)
	require.Greater(t, again.Fence(), token.Fence(), "fences grow all the same")
	require.ErrorIs(t, b.Complete(t.Context(), token, []byte("v"), idemLong), idem.ErrLost)
}

// Slots move and masters change while jobs are done; then a master is killed that
// had nothing its replica did not have.
func TestIdemOnACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("six servers")
	}
	c := redistest.StartCluster(t, 3, 1, redistest.Options{})
	cfg := IdemConfig{URL: c.URL()}
	b, other := newIdem(t, nil, cfg), newIdem(t, nil, cfg)
	jobs := 6000
	j := startJobs(t, jobs, b, other)
	for n := range 8 {
		j.waitPart(n / 4)
		key := b.key(idemKey(n * jobs / 8))
		from, to := c.Owner(key), c.Nodes[0]
		if to == from {
			to = c.Nodes[1]
		}
		c.Migrate(c.Slot(key), from, to)
	}
	c.Failover(c.Nodes[3])
	c.WaitWhole()
	j.waitPart(6)
	c.Failover(c.Nodes[4])
	c.WaitWhole()
	j.check()
	keys := map[bool]int{}
	for _, s := range c.Nodes[3:5] {
		keys[allExpire(t, s) > jobs/6]++
	}
	require.Equal(t, map[bool]int{true: 2}, keys, "they are spread")

	killed := c.Owner(b.key(idemKey(0)))
	waitInStep(killed)
	killed.Kill()
	j.check()
}

// waitInStep waits until the only replica of s has all that s has.
func waitInStep(s *redistest.Server) {
	s.Wait("the replica is in step", func() bool {
		info := s.Text("INFO", "replication")
		_, replica, ok := strings.Cut(infoField(info, "slave0"), "offset=")
		offset, _, _ := strings.Cut(replica, ",")
		return ok && offset == infoField(info, "master_repl_offset")
	})
}

// The master is killed, and the sentinels make its replica the master.
func TestIdemWithSentinels(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes the sentinels a second")
	}
	master := redistest.Start(t, redistest.Options{})
	redistest.StartReplica(t, master, redistest.Options{})
	watch := redistest.StartSentinels(t, "main", master, 1, 1)
	b := newIdem(t, nil, IdemConfig{URL: watch.URL()})
	j := startJobs(t, 500, b)
	j.check()
	token := idemAcquire(t, b, 1000, idemLong)
	waitInStep(master)
	master.Kill()
	_, err := b.Begin(t.Context(), idemKey(1001), idemPrintA, idemLong)
	require.Error(t, err, "there is no master yet")
	j.check()
	require.NoError(t, b.Complete(t.Context(), token, []byte("v"), idemLong))
}
