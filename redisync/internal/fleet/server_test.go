package fleet

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/redisync"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// The model answers as the script does on a real server, at the server's own times.
func TestServerIsTheScript(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	transport, err := redisync.Dial(t.Context(), srv.URL())
	require.NoError(t, err)
	defer transport.Close()
	model, r := newServer(time.Microsecond), rand.New(rand.NewPCG(1, 2))
	policies := make([]redisync.Policy, 4)
	for i := range policies {
		policies[i], err = redisync.PolicyOf(int64(1000*(i+1)), time.Second, int64(10+i), int64(i/2+1))
		require.NoError(t, err)
	}
	stale, created, forgiven, older := 0, 0, int64(0), 0
	for i := range 4000 {
		c := redisync.Call{Key: redisync.NodesKey("p"), Args: redisync.HeartbeatArgs{Node: slot(r.IntN(5)), TTL: 60_000}.Args()}
		switch x := r.IntN(20); {
		case x == 0:
			c.Args = redisync.LeaveArgs{Node: slot(r.IntN(5))}.Args()
		case x > 1:
			total := r.Int64N(50)
			c = redisync.Call{Key: fmt.Sprint("p:", i/500, r.IntN(2)), Args: redisync.CreditArgs{
				Slot: slot(r.IntN(4)), Epoch: 1 + int64(i%500)/100 + r.Int64N(2), Total: total, Base: r.Int64N(total + 1),
				Policy: policies[min(3, i%500/125+r.IntN(2))], Keep: 60_000, Est: r.Int64N(20_000_000) - 5_000_000, Debt: 30_000_000,
			}.Args()}
		}
		got := transport.Call(t.Context(), c)
		require.NoError(t, got.Err)
		at := 1 // of the server's time in a reply
		if c.Args[0] == "c1" {
			at = 2
		}
		want, err := model.run(c, got.Values[at])
		require.NoError(t, err)
		require.Equal(t, want, got.Values, "call %d: %v", i, c)
		if c.Args[0] == "c1" {
			stale += b2i(got.Values[0] == int64(redisync.Stale))
			older += b2i(got.Values[0] == int64(redisync.OlderPolicy))
			created += int(got.Values[3])
			forgiven += got.Values[4]
		}
	}
	require.Greater(t, stale, 20)
	require.Greater(t, older, 20)
	require.Equal(t, 16, created)
	require.Positive(t, forgiven)
}

func slot(i int) redisync.Slot { return redisync.Slot(fmt.Sprintf("node%04d", i)) }

func b2i(b bool) int { return int(one(b)) }

func TestServerRefusesWhatIsNotModelled(t *testing.T) {
	s := newServer(time.Microsecond)
	for _, args := range [][]string{{"l1", "node"}, {"c1", "node"}, {"h1", "node", "x"}} {
		_, err := s.run(redisync.Call{Args: args}, 1)
		require.ErrorIs(t, err, redisync.ErrRefused, "%v", args)
	}
}
