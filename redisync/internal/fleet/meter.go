package fleet

import "time"

// meter holds what all nodes admitted together against the limit: a bucket that may go
// below zero. The lowest it was is the most by which any window had more than capacity
// and refill.
type meter struct {
	limit    Limit
	level    int64 // tokens times limit.Per
	at       time.Duration
	lowest   int64
	admitted int64
}

// Limit is a token bucket: Tokens in each Per, Capacity at once.
type Limit struct {
	Tokens   int64
	Per      time.Duration
	Capacity int64
}

// refill is the tokens that d refills.
func (l Limit) refill(d time.Duration) float64 {
	return float64(d) / float64(l.Per) * float64(l.Tokens)
}

func newMeter(l Limit) *meter { return &meter{limit: l, level: l.Capacity * int64(l.Per)} }

// admit notes a token at a time, which does not go back.
func (m *meter) admit(at time.Duration) {
	m.level = min(m.limit.Capacity*int64(m.limit.Per), m.level+int64(at-m.at)*m.limit.Tokens)
	m.at = at
	m.level -= int64(m.limit.Per)
	m.lowest = min(m.lowest, m.level)
	m.admitted++
}

// excess is the most tokens beyond the limit in any window so far.
func (m *meter) excess() float64 { return float64(-m.lowest) / float64(m.limit.Per) }
