package service

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
)

// coreOf is a core around a gate of its own.
func coreOf(t *testing.T, log *slog.Logger, name string) *Core {
	t.Helper()
	c, err := Around(Config{Name: name, Now: time.Now, Log: log, ShowKeys: true}, func(audit func(tickgate.Change)) (*tickgate.Gate, error) {
		return tickgate.New(tickgate.Config{Policies: policy.Set{}, MaxKeys: 1, Audit: audit})
	})
	require.NoError(t, err)
	return c
}

// TestReloadThatHangs: decisions, denials and what operators look at wait for no reading.
// What hangs keeps nothing else from being read, and is told; what it reads in the end counts.
func TestReloadThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		c := coreOf(t, log, "envoy")
		mend := make(chan struct{})
		hanging := NewReloadable("rls", "1", log, func() (string, error) { <-mend; return "2", nil })
		other := NewReloadable("keys", "1 keys", log, func() (string, error) { return "2 keys", nil })
		c.Watch(hanging)
		c.Watch(other)
		c.Versioned(func() string { return "rls@" + hanging.source().Version })
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.Reload(t.Context())
		}()
		synctest.Wait()
		c.Denied("k", "e", 1, &tickgate.Decision{Reason: tickgate.Limited})
		require.Equal(t, "rls@1", c.Denials.Recent(1)[0].Version)
		require.Equal(t, "envoy", c.Denials.Recent(1)[0].Gate)
		all := c.sources()
		require.Equal(t, []string{"1", "2 keys"}, []string{all[0].Version, all[1].Version})
		<-ended // after a while it is not waited for any more
		require.ErrorIs(t, c.sources()[0].LastError, errHangs)
		c.Reload(t.Context())
		require.EqualValues(t, 2, c.sources()[0].Refused, "it is not begun again")
		require.EqualValues(t, 3, c.sources()[1].Applied)
		close(mend)
		synctest.Wait()
		require.Equal(t, "2", c.sources()[0].Version)
		require.NoError(t, c.sources()[0].LastError)
		c.Reload(t.Context())
		require.EqualValues(t, 3, c.sources()[0].Applied)
	})
}

// TestRunEndsThoughAReloadHangs, and though a worker does, within the time that is given.
func TestRunEndsThoughAReloadHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		forever, hangup, begun := make(chan struct{}), make(chan struct{}), make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			err := Run(ctx, Running{
				Hangup: hangup, Reload: func(context.Context) { close(begun); <-forever },
				Closers:         []func(context.Context) error{func(context.Context) error { return errors.New("closed") }},
				ShutdownTimeout: 3 * time.Second, Log: slog.New(slog.NewTextHandler(&out, nil)),
			})
			require.EqualError(t, err, "closed", "what is to be closed is")
		})
		hangup <- struct{}{}
		<-begun
		stop()
		from := time.Now()
		all.Wait()
		require.Equal(t, 3*time.Second, time.Since(from))
		require.Contains(t, out.String(), "something hangs")
		close(forever)
	})
}

// TestCostly: what can never pass is told of policies on credit, once, and shown.
func TestCostly(t *testing.T) {
	bucket := func(endpoint string, credit int64, limits ...policy.Limit) policy.Policy {
		return policy.Policy{Endpoint: endpoint, Limits: limits, Credit: credit}
	}
	five := policy.Limit{Tokens: 5, Per: time.Minute}
	set := policy.Set{
		bucket("low", 1, five), bucket("all", 5, five), bucket("local", 0, five), bucket("burst", 5, policy.Limit{Tokens: 5, Per: time.Second, Burst: 50}),
		bucket("two", 3, policy.Limit{Tokens: 9, Per: time.Second, Name: "a"}, policy.Limit{Tokens: 2, Per: time.Hour, Window: policy.Rolling}),
		bucket("window", 1, policy.Limit{Tokens: 9, Per: time.Second, Window: policy.Rolling}), bucket("strict", 1, five),
	}
	r := &Redis{Modes: map[string]redisync.Mode{"strict": redisync.Strict}}
	require.Equal(t, []costly{{"low", 1, 5}, {"burst", 5, 50}}, r.costly(set))
	require.Equal(t, " mode=credit never more than 1 in one call", r.Shown(set)["low"])
	require.Equal(t, " mode=credit", r.Shown(set)["all"])

	var out bytes.Buffer
	c := coreOf(t, slog.New(slog.NewTextHandler(&out, nil)), "")
	c.cfg.Redis = r
	c.warnCostly(set[:1], set)
	require.Contains(t, out.String(), "policy=burst credit=5 capacity=50")
	require.NotContains(t, out.String(), "policy=low", "it was said before")
}
