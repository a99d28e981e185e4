package history

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// rig is a gate whose decisions are counted, and the time.
type rig struct {
	gate *tickgate.Gate
	at   time.Time
	*History
}

func rigOf(t *testing.T, set ...policy.Policy) *rig {
	t.Helper()
	g, err := tickgate.New(tickgate.Config{Policies: set, Clock: clock.NewManual(0)})
	require.NoError(t, err)
	r := &rig{gate: g, at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	g.Take("early", set[0].Endpoint, 1) // before the history begins
	r.History = New(g.Stats, func() time.Time { return r.at })
	return r
}

func (r *rig) take(times int, endpoint string) {
	for range times {
		r.gate.Take("key", endpoint, 1)
	}
}

func (r *rig) after(d time.Duration) Point {
	r.at = r.at.Add(d)
	r.Sample()
	all := r.Since(time.Time{})
	return all[len(all)-1]
}

func five(endpoint string) policy.Policy {
	return policy.Policy{Endpoint: endpoint, Limits: []policy.Limit{{Tokens: 5, Per: time.Hour}}}
}

func TestRates(t *testing.T) {
	shadow := five("shadow")
	shadow.Shadow = true
	r := rigOf(t, five("a"), shadow)
	require.Empty(t, r.Since(time.Time{}))
	r.take(8, "a")
	r.take(6, "shadow")
	r.take(1, "nowhere")
	r.gate.Take("key", "a", -1)
	require.Equal(t, Point{r.at.Add(time.Second), 11, 5, 1}, r.after(time.Second))
	require.Equal(t, Point{r.at.Add(time.Second), 0, 0, 0}, r.after(time.Second), "each counts once")
	r.take(4, "a")
	require.Equal(t, 2.0, r.after(2*time.Second).Denied, "a second")
	r.Sample()
	require.Len(t, r.Since(time.Time{}), 3, "no time has passed")
}

// A policy that goes does not make the sums go back, and one that comes counts from its
// beginning.
func TestPoliciesThatChange(t *testing.T) {
	r := rigOf(t, five("a"))
	r.take(5, "a")
	require.Equal(t, 5.0, r.after(time.Second).Allowed)
	require.NoError(t, r.gate.Apply(policy.Set{five("b")}))
	r.take(3, "b")
	require.Equal(t, Point{r.at.Add(time.Second), 3, 0, 0}, r.after(time.Second))
	require.NoError(t, r.gate.Apply(policy.Set{five("a"), five("b")}))
	r.take(1, "b")
	r.take(1, "a")
	require.Equal(t, Point{r.at.Add(time.Second), 1, 1, 0}, r.after(time.Second))
}

func TestOnlyTheLastTenMinutes(t *testing.T) {
	r := rigOf(t, five("a"))
	begin := r.at
	for range Points + 7 {
		r.after(time.Second)
	}
	all := r.Since(time.Time{})
	require.Len(t, all, Points)
	for i, p := range all {
		require.Equal(t, begin.Add(time.Duration(8+i)*time.Second), p.At)
	}
	require.Equal(t, all[Points-2:], r.Since(all[Points-3].At))
	require.Empty(t, r.Since(r.at))
}

func TestRunEndsAndMayBeReadMeanwhile(t *testing.T) {
	g, err := tickgate.New(tickgate.Config{})
	require.NoError(t, err)
	h := New(g.Stats, time.Now)
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { h.Run(ctx) })
	for range 2 {
		all.Go(func() {
			for range 100 {
				h.Sample()
				h.Since(time.Time{})
			}
		})
	}
	stop()
	all.Wait()
	require.LessOrEqual(t, len(h.Since(time.Time{})), Points)
}
