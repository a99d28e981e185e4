package peer

import (
	"sync"
	"time"

	"github.com/juju/ratelimit"

	"github.com/tickgate/tickgate/bench/internal/load"
)

// juju is github.com/juju/ratelimit in a sync.Map: integer tokens under a
// mutex, one bucket per key. Nothing is ever dropped from the map.
var juju = Lib{
	Name: "juju", Keyed: true, CanDeny: true,
	New: func(l load.Limit, _ int) (Limiter, error) {
		return &jujuInSyncMap{limit: l}, nil
	},
}

type jujuInSyncMap struct {
	limit   load.Limit
	buckets sync.Map // string to *ratelimit.Bucket
}

func (j *jujuInSyncMap) Allow(key string) bool {
	v, ok := j.buckets.Load(key)
	if !ok {
		every := j.limit.Per / time.Duration(j.limit.Tokens)
		v, _ = j.buckets.LoadOrStore(key, ratelimit.NewBucket(every, j.limit.Burst))
	}
	return v.(*ratelimit.Bucket).TakeAvailable(1) == 1
}
