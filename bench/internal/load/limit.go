package load

import "time"

// Limit is the limit of one run, in the terms that every limiter has.
type Limit struct {
	Outcome string        // allow or deny: what every call of the run gets
	Tokens  int64         // tokens that come back every Per
	Per     time.Duration // the period of Tokens
	Burst   int64         // capacity of the bucket, in tokens
}

var (
	// Allow is a limit that no run can reach: a token a nanosecond, and a
	// thousand million in store.
	Allow = Limit{Outcome: "allow", Tokens: 1e9, Per: time.Second, Burst: 1e9}

	// Deny is a limit that denies everything once its only token is spent,
	// which the preparation of a run does.
	Deny = Limit{Outcome: "deny", Tokens: 1, Per: 24 * time.Hour, Burst: 1}
)

// OfDay is the limit as a fixed window of a day, for limiters that know nothing
// else: a run stays within one window, and no call finds its counter expired.
func (l Limit) OfDay() (tokens int64, window time.Duration) {
	const day = 24 * time.Hour
	return l.Tokens * int64(day/l.Per), day
}
