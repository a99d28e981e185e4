package peer

import (
	"github.com/puzpuzpuz/xsync/v4"
	"golang.org/x/time/rate"

	"github.com/tickgate/tickgate/bench/internal/load"
)

// xtimeXsync is golang.org/x/time/rate in a map of github.com/puzpuzpuz/xsync,
// sized in advance. Nothing is ever dropped from the map.
var xtimeXsync = Lib{
	Name: "xtime-xsync", Keyed: true, CanDeny: true,
	New: func(l load.Limit, keys int) (Limiter, error) {
		return &xtimeInXsync{limit: l, buckets: xsync.NewMap[string, *rate.Limiter](xsync.WithPresize(keys))}, nil
	},
}

type xtimeInXsync struct {
	limit   load.Limit
	buckets *xsync.Map[string, *rate.Limiter]
}

func (x *xtimeInXsync) Allow(key string) bool {
	b, ok := x.buckets.Load(key)
	if !ok {
		b, _ = x.buckets.LoadOrStore(key, newXTime(x.limit))
	}
	return b.Allow()
}
