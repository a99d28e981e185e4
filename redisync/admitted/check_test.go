package admitted

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// at is an admission of n tokens at ms.
func at(ms float64, n int32) Event {
	ns := int64(ms * 1e6)
	return Event{Before: ns, After: ns, N: n}
}

// between is one that happened at some time from ms to ms.
func between(from, to float64, n int32) Event {
	return Event{Before: int64(from * 1e6), After: int64(to * 1e6), N: n}
}

func repeat(k int, each func(i int) Event) (all []Event) {
	for i := range k {
		all = append(all, each(i))
	}
	return all
}

func TestCheckKnownHistories(t *testing.T) {
	tens := Limit{Tokens: 10, Per: time.Second, Capacity: 10} // a token is 100 ms
	tests := []struct {
		name      string
		limit     Limit
		events    []Event
		low, high float64
	}{
		{"nothing", tens, nil, 0, 0},
		{"the capacity at once", tens, []Event{at(5, 10)}, 0, 0},
		{"one more than the capacity", tens, []Event{at(5, 11)}, 1, 1},
		{"one by one", tens, repeat(13, func(int) Event { return at(5, 1) }), 3, 3},
		{"the capacity, then at the rate", tens, append(repeat(50, func(i int) Event { return at(100*float64(i+1), 1) }), at(0, 10)), 0, 0},
		{"each a little early", tens, append(repeat(50, func(i int) Event { return at(90*float64(i+1), 1) }), at(0, 10)), 5, 5},
		{"half a token early", tens, []Event{at(0, 10), at(50, 1)}, 0.5, 0.5},
		{"debt that is paid back stays in O", tens, []Event{at(0, 14), at(60_000, 1)}, 4, 4},
		{"full again by waiting, not fuller", tens, []Event{at(0, 10), at(60_000, 12)}, 2, 2},
		{"the worst window is not the whole", tens, []Event{at(0, 10), at(10_000, 10), at(10_100, 8), at(60_000, 1)}, 7, 7},
		{"a window of two bursts", tens, []Event{at(0, 10), at(300, 8)}, 5, 5},
		{"thirds", Limit{Tokens: 3, Per: time.Second, Capacity: 3}, []Event{at(0, 3), at(1000, 4)}, 1, 1},
		{"no capacity", Limit{Tokens: 1, Per: time.Second}, []Event{at(0, 7)}, 7, 7},

		{"it may have been late enough", tens, []Event{at(0, 10), between(50, 200, 1)}, 0, 0.5},
		{"it was too early for sure", tens, []Event{at(0, 10), between(20, 50, 1)}, 0.5, 0.8},
		{"an old one may count in the new burst", tens, []Event{between(0, 60_000, 4), at(60_000, 10)}, 0, 4},
		{"all may have been at one time", tens, repeat(15, func(i int) Event { return between(float64(i), 1000, 1) }), 0, 5},
		{"they overlap, not all at one time", tens, []Event{between(0, 100, 10), between(100, 200, 10), between(201, 300, 10)}, 17, 18.99},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, offset := range []int64{0, 1 << 50} {
				events := append([]Event(nil), tt.events...)
				for i := range events {
					events[i].Before += offset
					events[i].After += offset
				}
				rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
				o := Check(events, tt.limit)
				require.InDelta(t, tt.low, o.Low, 1e-9, "low")
				require.InDelta(t, tt.high, o.High, 1e-9, "high")
				require.Equal(t, len(events), o.Events)
				if o.High > 0 {
					require.InDelta(t, tt.high, counted(events, o)-tt.limit.Budget(time.Duration(o.To-o.From)), 1e-6, "the window")
				}
			}
		})
	}
}

// counted is what may have passed within the window of o.
func counted(events []Event, o Overshoot) (n float64) {
	for _, e := range events {
		if e.Before <= o.To && e.After >= o.From {
			n += float64(e.N)
		}
	}
	return n
}

// level is max(0, -min l) of admissions at exact times in order.
func level(times []int64, events []Event, l Limit) float64 {
	order := make([]int, len(times))
	for i := range order {
		order[i] = i
	}
	for i := range order { // a handful
		for j := i + 1; j < len(order); j++ {
			if times[order[j]] < times[order[i]] {
				order[i], order[j] = order[j], order[i]
			}
		}
	}
	left, lowest, last := float64(l.Capacity), 0.0, int64(math.MinInt64/2)
	for _, i := range order {
		left = math.Min(float64(l.Capacity), left+float64(times[i]-last)*float64(l.Tokens)/float64(l.Per))
		left -= float64(events[i].N)
		lowest, last = math.Min(lowest, left), times[i]
	}
	return -lowest
}

// Every choice of times on a grid is tried.
func TestCheckAgainstEveryChoiceOfTimes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	exact := 0
	const histories = 3000
	for range histories {
		l := Limit{Tokens: 1 + rnd.Int64N(3), Per: time.Duration(1 + rnd.IntN(4)), Capacity: rnd.Int64N(5)}
		events := make([]Event, 1+rnd.IntN(4))
		for i := range events {
			events[i].Before = rnd.Int64N(6)
			events[i].After = events[i].Before + rnd.Int64N(3)
			events[i].N = 1 + rnd.Int32N(4)
		}
		most, least := 0.0, math.Inf(1)
		times := make([]int64, len(events))
		var try func(i int)
		try = func(i int) {
			if i == len(events) {
				o := level(times, events, l)
				most, least = math.Max(most, o), math.Min(least, o)
				return
			}
			for times[i] = events[i].Before; times[i] <= events[i].After; times[i]++ {
				try(i + 1)
			}
		}
		try(0)
		o := Check(events, l)
		require.InDelta(t, most, o.High, 1e-9, "%v %v", events, l)
		require.LessOrEqual(t, o.Low, least+1e-9, "%v %v", events, l)
		if o.Low > least-1e-9 {
			exact++
		}
	}
	require.Greater(t, exact, histories*7/10, "Low is too cautious")
}

func TestCheckLargeHistory(t *testing.T) {
	l := Limit{Tokens: 10_000, Per: time.Second, Capacity: 1000}
	const n = 300_000
	events := repeat(n, func(i int) Event {
		ns := int64(i) * 100_000
		return Event{Before: 1<<55 + ns, After: 1<<55 + ns + 900, N: 1}
	})
	require.Zero(t, Check(events, l).High)
	for range 1100 {
		events = append(events, Event{Before: 1<<55 + 5e9, After: 1<<55 + 5e9 + 900, N: 1})
	}
	o := Check(events, l)
	require.InDelta(t, 100, o.Low, 1.1)
	require.InDelta(t, 101, o.High, 0.1)
	require.EqualValues(t, n+1100, o.Admitted)
}
