package peer

import (
	"sync"

	"golang.org/x/time/rate"

	"github.com/tickgate/tickgate/bench/internal/load"
)

// xtimeSyncMap is golang.org/x/time/rate in a sync.Map. Nothing is ever
// dropped from the map.
var xtimeSyncMap = Lib{
	Name: "xtime-syncmap", Keyed: true, CanDeny: true,
	New: func(l load.Limit, _ int) (Limiter, error) {
		return &xtimeInSyncMap{limit: l}, nil
	},
}

type xtimeInSyncMap struct {
	limit   load.Limit
	buckets sync.Map // string to *rate.Limiter
}

func (x *xtimeInSyncMap) Allow(key string) bool {
	v, ok := x.buckets.Load(key)
	if !ok {
		v, _ = x.buckets.LoadOrStore(key, newXTime(x.limit))
	}
	return v.(*rate.Limiter).Allow()
}
