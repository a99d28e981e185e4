package tickgate_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// endpoint is the one that the gates of gateOf name.
const endpoint = "order.new"

// gateOf makes a gate with one endpoint under the given limits. Its clock stands
// still until it is moved.
func gateOf(t testing.TB, cfg tickgate.Config, limits ...string) (*tickgate.Gate, *clock.Manual) {
	return gateWith(t, cfg, setOf(t, limits...))
}

// gateWith is gateOf for any policies.
func gateWith(t testing.TB, cfg tickgate.Config, set policy.Set) (*tickgate.Gate, *clock.Manual) {
	c := clock.NewManual(clock.Time(time.Hour))
	cfg.Clock, cfg.Policies = c, set
	if cfg.MaxKeys == 0 && math.MaxInt == math.MaxInt32 {
		cfg.MaxKeys = 200 // the rings of many gates do not fit into 32 bits
	}
	g, err := tickgate.New(cfg)
	require.NoError(t, err)
	return g, c
}

func setOf(t testing.TB, limits ...string) policy.Set {
	return policy.Set{policyOf(t, endpoint, limits...)}
}

func policyOf(t testing.TB, endpoint string, limits ...string) policy.Policy {
	p := policy.Policy{Endpoint: endpoint}
	for _, s := range limits {
		l, err := policy.ParseLimit(s)
		require.NoError(t, err)
		p.Limits = append(p.Limits, l)
	}
	return p
}

func handleOf(t testing.TB, g *tickgate.Gate, apikey string) tickgate.Handle {
	h, err := g.Handle(apikey, endpoint)
	require.NoError(t, err)
	return h
}

// drain counts how often allow says yes in a row.
func drain(allow func() bool) (n int) {
	for allow() {
		n++
	}
	return n
}

// left is what a key has left in its tightest limit.
func left(g *tickgate.Gate, apikey string) int64 {
	return g.Take(apikey, endpoint, 0).Remaining
}

func TestMain(m *testing.M) {
	memoryChild()
	m.Run()
}
