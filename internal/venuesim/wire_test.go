package venuesim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func open(t *testing.T) *Venue {
	return one(t, &Rule{Name: "r", Limit: Limit{Kind: Unlimited}})
}

func wire(t *testing.T, v *Venue, n Network) *Wire {
	w, err := NewWire(v, n)
	require.NoError(t, err)
	return w
}

func TestWireDelaysWithinBounds(t *testing.T) {
	for _, harsh := range []bool{false, true} {
		w := wire(t, open(t), Network{Min: 3, Max: 7, Harsh: harsh, Seed: 1})
		for i := 0; i < 1000; i++ {
			w.Send(int64(i), "m")
		}
		there, back := map[int64]int{}, map[int64]int{}
		last, overtaken := int64(0), 0
		for _, d := range w.Deliver(2000) {
			there[d.Arrived-d.Sent]++
			back[d.Returned-d.Arrived]++
			require.Equal(t, d.Arrived, d.Reply.At)
			if d.Sent < last {
				overtaken++
			}
			last = d.Sent
		}
		for _, delays := range []map[int64]int{there, back} {
			want := 5
			if harsh {
				want = 2
			}
			require.Len(t, delays, want)
			require.Positive(t, delays[3])
			require.Positive(t, delays[7])
		}
		require.Positive(t, overtaken, "not ordered")
		require.Zero(t, w.Pending())
	}
}

func TestWireOrderedBySession(t *testing.T) {
	w := wire(t, open(t), Network{Min: 0, Max: 100, Ordered: true, Seed: 2})
	for i := 0; i < 1000; i++ {
		w.SendOn(i%2, int64(i), "m", int64(i))
	}
	var last [2]Delivery
	arrived, overtaken, sent, count := int64(0), 0, int64(0), 0
	for until := int64(0); until <= 1200; until += 10 {
		for _, d := range w.Deliver(until) {
			l := &last[d.Session]
			require.True(t, d.Sent >= l.Sent && d.Arrived >= l.Arrived && d.Returned >= l.Returned)
			require.GreaterOrEqual(t, d.Arrived, arrived)
			require.True(t, d.Arrived > until-10 && d.Arrived <= until)
			require.LessOrEqual(t, d.Arrived-d.Sent, int64(100))
			if d.Sent < sent {
				overtaken++
			}
			arrived, sent, *l = d.Arrived, d.Sent, d
			count++
		}
	}
	require.Equal(t, 1000, count)
	require.Positive(t, overtaken, "sessions are apart")
}

func TestWireIsDeterministic(t *testing.T) {
	run := func(seed uint64, step int64) (all []Delivery) {
		w := wire(t, open(t), Network{Max: 50, Ordered: true, Seed: seed})
		for i := int64(0); i < 100; i++ {
			w.Send(i*10, "m")
		}
		for until := int64(0); until < 2000; until += step {
			all = append(all, w.Deliver(until)...)
		}
		return all
	}
	require.Equal(t, run(1, 1), run(1, 100), "however it is delivered")
	require.NotEqual(t, run(1, 1), run(2, 1))
}

func TestWireKeepsItsOwnCosts(t *testing.T) {
	v := one(t, &Rule{Name: "r", Limit: Limit{Kind: Aligned, Tokens: 9, Per: 100}})
	w, costs := wire(t, v, Network{}), []int64{2}
	w.Send(5, "m", costs...)
	costs[0] = 9
	require.Empty(t, w.Deliver(4))
	require.Equal(t, 1, w.Pending())
	require.Equal(t, int64(2), w.Deliver(5)[0].Reply.Used[0].Used)
	w.Send(5, "m")
	require.Len(t, w.Deliver(5), 1, "what was delivered up to 5 may go on at 5")
	require.Panics(t, func() { w.Send(4, "m") })
}

func TestWireDelayOfAnyLength(t *testing.T) {
	w := wire(t, open(t), Network{Max: time.Duration(Never)})
	require.GreaterOrEqual(t, w.delay(), int64(0))
	_, err := NewWire(nil, Network{Min: 2, Max: 1, Clock: Clock{Drift: time.Second, Swing: -1}})
	for _, want := range []string{"venue must not be nil", "delays [2ns, 1ns]", "drift 1s", "swing -1ns"} {
		require.ErrorContains(t, err, want)
	}
}

func TestClock(t *testing.T) {
	require.Equal(t, int64(7), Clock{}.At(7))
	require.Equal(t, int64(4), Clock{Offset: -3}.At(7))

	slow := Clock{Offset: 100, Drift: -5 * time.Microsecond, Start: 50}
	require.Equal(t, int64(110), slow.At(10), "the drift has not begun")
	require.Equal(t, 50+100+3600*second-3600*5000, slow.At(50+3600*second))
	require.Equal(t, Never/2-Never/2/200000, Clock{Drift: -5 * time.Microsecond}.At(Never/2))

	for _, drift := range []time.Duration{999_999_999, -999_999_999, 333_333_333, -1} {
		c := Clock{Offset: -20, Drift: drift, Swing: 7}
		last, least, greatest := c.At(-1), int64(0), int64(0)
		for at := int64(0); at < 1000; at++ {
			now := c.At(at)
			require.GreaterOrEqual(t, now, last, "never back")
			off := now - at + 20
			least, greatest, last = min(least, off), max(greatest, off), now
		}
		switch {
		case drift == -1:
			require.Zero(t, least)
		case drift > 0:
			require.Equal(t, [2]int64{0, 7}, [2]int64{least, greatest})
		default:
			require.Equal(t, [2]int64{-7, 0}, [2]int64{least, greatest})
		}
	}
}
