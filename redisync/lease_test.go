package redisync

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

func leased(c *Config) {
	c.Policies = map[string]Mode{"e": Lease}
	c.Quiet = policyMax
	c.MaxAge = 300 * time.Millisecond
}

// lossy loses some of the calls, and of the replies to others.
type lossy struct {
	Transport
	mu   sync.Mutex
	rand *rand.Rand
	part float64
	mute bool
}

func (l *lossy) lose() (request, reply bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mute || l.rand.Float64() < l.part, l.rand.Float64() < l.part
}

func (l *lossy) set(part float64, mute bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part, l.mute = part, mute
}

func (l *lossy) Sync(ctx context.Context, calls []Call, replies []Reply) {
	for i := range calls {
		request, reply := l.lose()
		if !request {
			l.Transport.Sync(ctx, calls[i:i+1], replies[i:i+1])
		}
		if request || reply {
			replies[i] = Reply{Err: fmt.Errorf("lost: %w", ErrUnknown)}
		}
	}
}

func lossyTo(t *testing.T, url string, part float64) *lossy {
	c, err := Dial(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return &lossy{Transport: c, rand: rand.New(rand.NewPCG(1, 2)), part: part}
}

func (n *node) eventually(t *testing.T, takes int) {
	require.Eventually(t, func() bool { return n.gate.AllowN("k", "e", int64(takes)) }, tenSeconds, tick)
}

func TestLeaseNeverExceedsWhatever(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	nodes := []*node{}
	for range 3 {
		l := lossyTo(t, srv.URL(), 0)
		nodes = append(nodes, nodeOf(t, "", on(t, 0, "200/d"), func(c *Config) {
			leased(c)
			c.Transport = l
		}))
		l.set(.3, false)
	}
	used := 0
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		for _, n := range nodes {
			for n.gate.Allow("k", "e") {
				used++
			}
		}
		time.Sleep(time.Millisecond)
	}
	require.LessOrEqual(t, used, 200)
	require.Greater(t, used, 150, "a lease that ended is lost, but few do")
}

func TestLeaseIsRenewedAndGivenBack(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	n := nodeOf(t, srv.URL(), on(t, 0, "100/d"), leased)
	key, _ := LeaseKey("tickgate", "e", OnlyLimit, "k")
	n.eventually(t, 1)
	require.Eventually(t, func() bool { return n.Stats().Acked >= 5 }, tenSeconds, tick, "it lives longer than a term")
	require.Zero(t, n.Stats().Wasted)
	require.Eventually(t, func() bool { return n.Stats().Records == 0 }, tenSeconds, tick, "and not for ever")
	require.EqualValues(t, 99, level(t, srv, key))
	require.Equal(t, "0:0", srv.Text("HGET", key, "h")[:3])
	n.eventually(t, 1)
	n.leave(t)
	require.EqualValues(t, 98, level(t, srv, key))
}

func TestLeaseEndsWithoutRedis(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	l := lossyTo(t, srv.URL(), 0)
	n := nodeOf(t, "", on(t, 0, "100/d"), func(c *Config) {
		leased(c)
		c.Transport = l
	})
	n.eventually(t, 1)
	require.Eventually(t, func() bool { return n.Stats().Leased > 5 }, tenSeconds, tick)
	l.set(0, true)
	time.Sleep(time.Second) // longer than the term
	require.False(t, n.gate.Allow("k", "e"), "whatever was left")
	l.set(0, false)
	n.eventually(t, 1)
	s := n.leave(t)
	require.Positive(t, s.Wasted)
	require.EqualValues(t, s.Leased-2, s.Wasted+s.Returned)
}

func TestLeaseLearnsAfterLoss(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	begun := time.Now()
	n := nodeOf(t, srv.URL(), on(t, 0, "1000/s"), func(c *Config) {
		leased(c)
		c.Quiet = 0
	})
	n.eventually(t, 1)
	require.GreaterOrEqual(t, time.Since(begun), 300*time.Millisecond, "a term without grants")
	require.Positive(t, n.Stats().Learning)
}

func TestLeaseGoesToWhoWantsIt(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	a := nodeOf(t, srv.URL(), on(t, 0, "4/d"), leased)
	b := nodeOf(t, srv.URL(), on(t, 0, "4/d"), leased)
	a.eventually(t, 1)
	for i := range 3 {
		require.Eventually(t, func() bool { return b.gate.Allow("k", "e") }, tenSeconds, tick, "token %d", i+2)
	}
	require.False(t, b.gate.Allow("k", "e"))
	require.False(t, a.gate.Allow("k", "e"))
}

func TestLeaseOfManyTokensAtOnce(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	n := nodeOf(t, srv.URL(), on(t, 0, "1000/d"), leased)
	n.eventually(t, 200)
	s := n.leave(t)
	require.EqualValues(t, s.Leased-200, s.Returned)
}

func TestLeaseCharge(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	n := nodeOf(t, srv.URL(), on(t, 0, "100/d"), leased)
	n.eventually(t, 1)
	h, err := n.gate.Handle("k", "e")
	require.NoError(t, err)
	h.Charge(30)
	require.Eventually(t, h.Allow, tenSeconds, tick)
	h.Release()
	n.leave(t)
	key, _ := LeaseKey("tickgate", "e", OnlyLimit, "k")
	require.EqualValues(t, 68, level(t, srv, key))
}

func TestMarksAreTouchedAgain(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	n := nodeOf(t, srv.URL(), on(t, 0, "100/d"), leased)
	n.engine.mu.Lock()
	srv.Must("FLUSHALL")
	n.engine.nextMark = n.engine.Clock.Now()
	n.engine.mu.Unlock()
	require.Eventually(t, func() bool { return n.Stats().Marks == Buckets }, tenSeconds, tick)
	require.Positive(t, srv.Must("PTTL", MarkKey("tickgate", 17)))
}
