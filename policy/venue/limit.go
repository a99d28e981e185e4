package venue

import (
	"time"

	"github.com/tickgate/tickgate/policy"
)

// aligned is a window of the venue's wall clock.
func aligned(name string, tokens int64, per time.Duration) policy.Limit {
	return policy.Limit{Name: name, Tokens: tokens, Per: per, Window: policy.Aligned}
}

// fromFirst is a window that the first message opens.
func fromFirst(name string, tokens int64, per time.Duration) policy.Limit {
	return policy.Limit{Name: name, Tokens: tokens, Per: per, Window: policy.FromFirst}
}

// rolling is a sliding window, or a fixed one whose phase nobody documents: what
// no span exceeds, no window exceeds.
func rolling(name string, tokens int64, per time.Duration) policy.Limit {
	return policy.Limit{Name: name, Tokens: tokens, Per: per, Window: policy.Rolling}
}

// bucket is a token bucket, or a counter up to burst that decays by tokens in per.
func bucket(name string, tokens int64, per time.Duration, burst int64) policy.Limit {
	return policy.Limit{Name: name, Tokens: tokens, Per: per, Burst: burst}
}

// unlimited is for messages that the venue does not count.
func unlimited(name string) policy.Limit {
	return policy.Limit{Name: name, Window: policy.Unlimited}
}
