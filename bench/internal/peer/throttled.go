package peer

import (
	"context"
	"math"

	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"

	"github.com/tickgate/tickgate/bench/internal/load"
)

// throttledMap is github.com/throttled/throttled/v2 with its memory store
// without a bound on the keys: the cell-rate algorithm in one word per key, in
// a map under a read-write mutex. Its answer holds the remaining tokens and
// the time of the reset as well. By itself it gives up with an error after 10
// lost races for a word, which two goroutines on one key bring about; here it
// goes on until it wins, as the others do. With a bound on the keys the store becomes an
// LRU list under one mutex, which is slower.
var throttledMap = Lib{
	Name: "throttled", Keyed: true, CanDeny: true,
	New: func(l load.Limit, _ int) (Limiter, error) {
		store, err := memstore.NewCtx(0)
		if err != nil {
			return nil, err
		}
		gcra, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{
			MaxRate: throttled.PerDuration(int(l.Tokens), l.Per),
			// MaxBurst counts the calls beyond the first.
			MaxBurst: int(l.Burst - 1),
		})
		if err != nil {
			return nil, err
		}
		gcra.SetMaxCASAttemptsLimit(math.MaxInt32)
		return &throttledCell{gcra}, nil
	},
}

type throttledCell struct {
	gcra *throttled.GCRARateLimiterCtx
}

func (t *throttledCell) Allow(key string) bool {
	limited, _, err := t.gcra.RateLimitCtx(context.Background(), key, 1)
	return !limited && err == nil
}
