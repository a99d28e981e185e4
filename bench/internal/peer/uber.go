package peer

import (
	"fmt"
	"time"

	"go.uber.org/ratelimit"

	"github.com/tickgate/tickgate/bench/internal/load"
)

// uber is go.uber.org/ratelimit: one bucket for the whole process, which makes
// the caller wait for its turn and never denies. It is measured at a rate at
// which it never waits, without slack, and with one key only.
var uber = Lib{
	Name: "uber", Keyed: false, CanDeny: false,
	New: func(l load.Limit, keys int) (Limiter, error) {
		if keys != 1 || l.Burst == 1 {
			return nil, fmt.Errorf("uber: it has one bucket and cannot deny: ask for 1 key and outcome allow")
		}
		return uberBucket{ratelimit.New(int(l.Tokens), ratelimit.Per(l.Per), ratelimit.WithoutSlack)}, nil
	},
}

type uberBucket struct {
	bucket ratelimit.Limiter
}

func (u uberBucket) Allow(string) bool {
	return u.bucket.Take() != time.Time{}
}
