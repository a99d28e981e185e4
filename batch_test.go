package tickgate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

// batchSet has endpoints of every kind.
func batchSet(t *testing.T) policy.Set {
	return policy.Set{
		policyOf(t, endpoint, "10/s"), policyOf(t, "pair", "20/s name=a", "5/s name=b"),
		policyOf(t, "open", "unlimited"), policyOf(t, "closed", "deny"), policyOf(t, policy.DefaultEndpoint, "3/s"),
	}
}

// randomRequests has bad ones among them, and the same keys again and again.
func randomRequests(r *rand.Rand, n int) []tickgate.Request {
	reqs := make([]tickgate.Request, n)
	for i := range reqs {
		reqs[i] = tickgate.Request{
			APIKey:   fmt.Sprint("key-", r.IntN(8)),
			Endpoint: []string{endpoint, endpoint, "pair", "open", "closed", "unlisted", "another"}[r.IntN(7)],
			N:        r.Int64N(4),
		}
		switch r.IntN(20) {
		case 0:
			reqs[i].APIKey = ""
		case 1:
			reqs[i].APIKey = strings.Repeat("k", 257)
		case 2:
			reqs[i].Endpoint = ""
		case 3:
			reqs[i].Endpoint = strings.Repeat("e", 300)
		case 4:
			reqs[i].N = -reqs[i].N
		case 5:
			reqs[i].N = 1000
		case 6:
			reqs[i].APIKey = strings.Repeat("long", 1+r.IntN(60))
		}
	}
	return reqs
}

// A batch decides what one at a time would, in the same order, and counts the
// same.
func TestBatchEqualsOneAtATime(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for _, maxKeys := range []int{1000, 5} {
		batch, c := gateWith(t, tickgate.Config{MaxKeys: maxKeys}, batchSet(t))
		single, d := gateWith(t, tickgate.Config{MaxKeys: maxKeys}, batchSet(t))
		for range 200 {
			now := c.Advance(time.Duration(r.Int64N(int64(time.Second))))
			d.Set(now)
			reqs := randomRequests(r, r.IntN(200))
			out := make([]tickgate.Decision, len(reqs))
			batch.TakeBatch(now, reqs, out)
			for i, q := range reqs {
				require.Equal(t, show(single.TakeAt(now, q.APIKey, q.Endpoint, q.N)), show(out[i]), "%+v", q)
			}
		}
		require.Equal(t, single.Stats(), batch.Stats())
	}
}

func TestBatchLengthsDiffer(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "1000/h")
	reqs := make([]tickgate.Request, 150)
	for i := range reqs {
		reqs[i] = tickgate.Request{APIKey: "k", Endpoint: endpoint, N: 1}
	}
	untouched := tickgate.Decision{Remaining: -7, Limit: "untouched"}
	out := make([]tickgate.Decision, 200)
	for i := range out {
		out[i] = untouched
	}
	g.TakeBatch(c.Now(), reqs, out)
	require.True(t, out[149].Allowed)
	require.Equal(t, untouched, out[150])
	require.Equal(t, int64(850), left(g, "k"))

	g.TakeBatch(c.Now(), reqs, out[:70])
	require.Equal(t, int64(780), left(g, "k"))
	g.TakeBatch(c.Now(), nil, out)
	g.TakeBatch(c.Now(), reqs, nil)
	require.Equal(t, int64(780), left(g, "k"))
}

// What an earlier decision left in out does not show.
func TestBatchOverwritesOut(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/h")
	out := make([]tickgate.Decision, 3)
	for i := range out {
		out[i] = g.Take("before", endpoint, 1)
	}
	g.TakeBatch(c.Now(), []tickgate.Request{{"k", endpoint, 1}, {"", endpoint, 1}, {"k", "none", 1}}, out)
	require.Equal(t, shown{true, tickgate.OK, "10/h", 9, 0, 6 * time.Minute}, show(out[0]))
	require.Equal(t, shown{false, tickgate.BadRequest, "", 0, tickgate.Never, 0}, show(out[1]))
	require.Equal(t, shown{false, tickgate.NoPolicy, "", 0, tickgate.Never, 0}, show(out[2]))
}

// A batch of one key is served in order until it is empty.
func TestBatchOfOneKey(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "70/h")
	reqs := make([]tickgate.Request, 200)
	for i := range reqs {
		reqs[i] = tickgate.Request{APIKey: "k", Endpoint: endpoint, N: 1}
	}
	out := make([]tickgate.Decision, len(reqs))
	g.TakeBatch(c.Now(), reqs, out)
	for i, d := range out {
		require.Equal(t, i < 70, d.Allowed, "request %d", i)
	}
}

// A decision of a batch can be given back.
func TestBatchDecisionIsRefunded(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/h")
	h := handleOf(t, g, "k")
	out := make([]tickgate.Decision, 1)
	g.TakeBatch(c.Now(), []tickgate.Request{{"k", endpoint, 4}}, out)
	h.Refund(out[0])
	require.Equal(t, int64(10), left(g, "k"))
}
