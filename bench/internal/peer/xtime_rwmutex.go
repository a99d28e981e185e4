package peer

import (
	"sync"

	"golang.org/x/time/rate"

	"github.com/tickgate/tickgate/bench/internal/load"
)

// xtimeRWMutex is golang.org/x/time/rate in a map under a read-write mutex,
// sized in advance. Nothing is ever dropped from the map.
var xtimeRWMutex = Lib{
	Name: "xtime-rwmutex", Keyed: true, CanDeny: true,
	New: func(l load.Limit, keys int) (Limiter, error) {
		return &xtimeInMap{limit: l, buckets: make(map[string]*rate.Limiter, keys)}, nil
	},
}

type xtimeInMap struct {
	limit   load.Limit
	mu      sync.RWMutex
	buckets map[string]*rate.Limiter // guarded by mu
}

func (x *xtimeInMap) Allow(key string) bool {
	x.mu.RLock()
	b := x.buckets[key]
	x.mu.RUnlock()
	if b == nil {
		b = x.add(key)
	}
	return b.Allow()
}

func (x *xtimeInMap) add(key string) *rate.Limiter {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := x.buckets[key]
	if b == nil {
		b = newXTime(x.limit)
		x.buckets[key] = b
	}
	return b
}
