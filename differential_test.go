package tickgate_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/internal/refmodel"
	"github.com/tickgate/tickgate/policy"
)

// tick is what times move by where the gate must decide to the nanosecond as the
// exact model does: a key's time by name follows its callers only when they are
// more than the grain ahead.
const tick = grain + 1

// beside is a gate and the exact model, called alike.
type beside struct {
	t     testing.TB
	r     *rand.Rand
	gate  *tickgate.Gate
	clock *clock.Manual
	model *refmodel.Gate
	known map[pair]tickgate.Handle // keys that are in both, and the handle of each
}

func newBeside(t testing.TB, r *rand.Rand, maxKeys int, set policy.Set) *beside {
	g, c := gateWith(t, tickgate.Config{MaxKeys: maxKeys}, set)
	b := &beside{t: t, r: r, gate: g, clock: c, known: map[pair]tickgate.Handle{}}
	b.model = refmodel.NewGate(modelOf(set))
	b.model.SetBack = true
	return b
}

func modelOf(set policy.Set) refmodel.Limits {
	m := refmodel.Limits{}
	for _, p := range set {
		for _, l := range p.Limits {
			m[p.Endpoint] = append(m[p.Endpoint], refmodel.Limit{
				Name: l.Label(), Tokens: l.Tokens, Per: int64(l.Per), Capacity: l.Capacity(),
				Window: l.Window, Reserve: l.Reserve, Skew: l.Skew,
			})
		}
	}
	return m
}

// take asks both for n tokens, through the key's handle or by name.
func (b *beside) take(p pair, now clock.Time, n int64) {
	h, known := b.known[p]
	if !known {
		n = max(n, 1) // else it is not brought in, and the model's time moves alone
	}
	var got tickgate.Decision
	if h != (tickgate.Handle{}) {
		got = h.TakeAt(now, n)
	} else {
		got = b.gate.TakeAt(now, p.apikey, p.endpoint, n)
	}
	if got.Reason == tickgate.TooCostly && !known {
		return // likewise
	}
	b.known[p] = h
	want := b.model.TakeAt(now, p.apikey, p.endpoint, n)
	requireSame(b.t, want, got)
	require.Equal(b.t, want.Limit, got.Limit)
	// Of a key with several limits a refund after some time gives back what is safe
	// for the one that was least used, so there only those at once are exact.
	if h != (tickgate.Handle{}) && got.Allowed && n > 0 && now == b.clock.Now() && b.r.IntN(8) == 0 {
		h.Refund(got)
		b.model.Refund(b.clock.Now(), p.apikey, p.endpoint, want.Receipt)
	}
}

// step makes one random call.
func (b *beside) step(keys int) {
	r := b.r
	if r.IntN(3) == 0 {
		b.clock.Advance(tick * time.Duration(1+r.Int64N(1<<r.IntN(18))))
	}
	p := pair{fmt.Sprint("key-", r.IntN(keys)), []string{endpoint, endpoint, "pair", "other"}[r.IntN(4)]}
	h := b.known[p]
	switch r.IntN(24) {
	case 0:
		if _, known := b.known[p]; known && h == (tickgate.Handle{}) {
			var err error
			h, err = b.gate.Handle(p.apikey, p.endpoint)
			require.NoError(b.t, err)
			b.known[p] = h
		}
	case 1:
		h.Release()
		if _, known := b.known[p]; known {
			b.known[p] = tickgate.Handle{}
		}
	case 2:
		if h != (tickgate.Handle{}) {
			n := 1 + r.Int64N(30)
			h.Charge(n)
			b.model.Charge(b.clock.Now(), p.apikey, p.endpoint, n)
		}
	case 3:
		if h != (tickgate.Handle{}) {
			n := 1 + r.Int64N(10)
			h.Credit(n)
			b.model.Credit(b.clock.Now(), p.apikey, p.endpoint, n)
		}
	case 4, 5:
		b.take(p, b.clock.Now().Add(-tick*time.Duration(r.Int64N(100_000))), r.Int64N(4)) // late
	case 6:
		b.take(p, b.clock.Now(), 0)
	case 7:
		if r.IntN(10) == 0 { // so late that its clock counts as set back
			b.take(p, b.clock.Now().Add(-tick*time.Duration(r.Int64N(1_000_000))), r.Int64N(4))
		}
	default:
		b.take(p, b.clock.Now(), r.Int64N(5))
	}
}

// Random calls by name and by handle, late ones, charges, credits and refunds: the
// gate decides each as the exact model does, to the token and the nanosecond.
func TestDifferentialToTheModel(t *testing.T) {
	for round := range scaled(60, 15) {
		r := rand.New(rand.NewPCG(17, uint64(round)))
		set := policy.Set{
			policyOf(t, endpoint, "10/s burst=20"),
			policyOf(t, "pair", "7/s burst=9 name=a", "100/m burst=30 name=b", "50/h name=c"),
			policyOf(t, policy.DefaultEndpoint, exactRates[round%len(exactRates)].String()),
		}
		b := newBeside(t, r, 1000, set)
		for range 1500 {
			b.step(6)
		}
		require.Zero(t, b.gate.Stats().Evictions)
	}
}

// The same where full keys are evicted all the time: nobody can tell. Late calls
// are left out, since a key that was evicted has forgotten its time.
func TestDifferentialUnderEviction(t *testing.T) {
	for round := range scaled(40, 10) {
		r := rand.New(rand.NewPCG(18, uint64(round)))
		set := policy.Set{policyOf(t, endpoint, "10/s burst=20", "300/m burst=25"), policyOf(t, policy.DefaultEndpoint, "100/s burst=3")}
		b := newBeside(t, r, 40, set)
		for range 3000 {
			b.clock.Advance(tick * time.Duration(r.Int64N(5000)))
			p := pair{fmt.Sprint("key-", r.IntN(200)), []string{endpoint, "other"}[r.IntN(2)]}
			b.take(p, b.clock.Now(), 1+r.Int64N(2))
		}
		s := b.gate.Stats()
		require.Zero(t, s.Evictions.Forced, "the test's rates keep too many keys in debt")
		require.NotZero(t, s.Evictions.Idle)
	}
}

// The same while capacities change, and limits come and go.
func TestDifferentialUnderChange(t *testing.T) {
	for round := range scaled(40, 10) {
		r := rand.New(rand.NewPCG(19, uint64(round)))
		rest := policy.Set{policyOf(t, "pair", "7/s burst=9 name=a", "100/m burst=30 name=b"), policyOf(t, policy.DefaultEndpoint, "5/s")}
		b := newBeside(t, r, 1000, append(setOf(t, "10/s burst=20 name=a"), rest...))
		for i := range 1500 {
			if i%50 == 49 {
				limits := []string{fmt.Sprintf("10/s burst=%d name=a", 4+r.IntN(30))}
				if r.IntN(2) == 0 {
					limits = append(limits, fmt.Sprintf("100/m burst=%d name=b", 4+r.IntN(30)))
				}
				set := append(setOf(t, limits...), rest...)
				for p := range b.known {
					b.take(p, b.clock.Now(), 0) // a change moves the model's time, not the gate's
				}
				require.NoError(t, b.gate.Apply(set))
				b.model.Apply(b.clock.Now(), modelOf(set))
				for p := range b.known {
					b.take(p, b.clock.Now(), 0)
				}
			}
			b.step(6)
		}
	}
}
