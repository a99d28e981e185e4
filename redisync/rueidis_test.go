package redisync

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// dialed returns a client that is closed when the test ends.
func dialed(t *testing.T, url string) *Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	c, err := Dial(ctx, url)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.NoError(t, Probe(ctx, c, "tickgate"))
	return c
}

func soon(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// credits are one sync each of n keys, with one token used.
func credits(n int) []Call {
	calls := make([]Call, n)
	for i := range calls {
		calls[i] = Call{Key: BudgetKey("tickgate", "orders", "l", strings.Repeat("k", i+1)), Args: creditOf(1).Args()}
	}
	return calls
}

func creditOf(total int64) CreditArgs {
	p := Policy{A: 1, B: 1000, C: 100 * Unit, V: 1}
	return CreditArgs{Slot: "node1", Epoch: 1, Total: total, Policy: p, Keep: 60_000, Est: p.C, Debt: p.C}
}

// syncs makes calls and requires that each was answered.
func syncs(t *testing.T, c *Client, calls []Call) []CreditReply {
	t.Helper()
	replies := make([]Reply, len(calls))
	c.Sync(soon(t, 5*time.Second), calls, replies)
	out := make([]CreditReply, len(calls))
	for i, r := range replies {
		require.NoError(t, r.Err)
		var err error
		out[i], err = ParseCredit(r.Values)
		require.NoError(t, err)
	}
	return out
}

func TestTransportAlone(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	c := dialed(t, srv.URL())
	for _, r := range syncs(t, c, credits(16)) {
		require.Equal(t, OK, r.Status)
		require.Equal(t, int64(1), r.Total)
		require.Equal(t, int64(99*Unit), r.Level)
	}
	require.Equal(t, 1, c.Lanes())
	require.Len(t, srv.Keys(), 16)
}
