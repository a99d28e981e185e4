package venue

import "time"

// step is a cost for orders younger than an age.
type step struct {
	under time.Duration
	cost  int64
}

// costAt returns the cost of an age, 0 beyond the last step. An age below zero,
// as clocks may make it, costs what the youngest does.
func costAt(age time.Duration, steps ...step) int64 {
	for _, s := range steps {
		if age < s.under {
			return s.cost
		}
	}
	return 0
}

// KrakenCancelCost returns what a cancel adds to the counter of [KrakenEngine], by
// the time since the order was created or last amended: 8 below 5 s, 6 below 10 s,
// 5 below 15 s, 4 below 45 s, 2 below 90 s, 1 below 300 s, then 0: such a cancel
// needs no tokens, and there is nothing to ask a gate for.
func KrakenCancelCost(age time.Duration) int64 {
	return costAt(age,
		step{5 * time.Second, 8}, step{10 * time.Second, 6}, step{15 * time.Second, 5},
		step{45 * time.Second, 4}, step{90 * time.Second, 2}, step{300 * time.Second, 1})
}

// KrakenAmendCost returns what an amendment adds to the counter of [KrakenEngine],
// by the time since the order was created or last amended: 1, and 3 more below
// 5 s, 2 more below 10 s, 1 more below 15 s.
func KrakenAmendCost(age time.Duration) int64 {
	return 1 + costAt(age, step{5 * time.Second, 3}, step{10 * time.Second, 2}, step{15 * time.Second, 1})
}
