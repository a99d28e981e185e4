package peer

import (
	"context"

	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"

	"github.com/tickgate/tickgate/bench/internal/load"
)

// ulule is github.com/ulule/limiter with its memory store: fixed windows from
// the first call of a key, counters under a mutex each in a sync.Map. Every
// call makes a new string of a prefix and the key, for which there is no way
// around. Its answer holds the remaining tokens and the time of the reset as
// well. Its sweep over all keys, by default every 30 seconds, is off.
var ulule = Lib{
	Name: "ulule", Keyed: true, CanDeny: true,
	New: func(l load.Limit, _ int) (Limiter, error) {
		store := memory.NewStoreWithOptions(limiter.StoreOptions{Prefix: limiter.DefaultPrefix})
		tokens, window := l.OfDay()
		return &ululeStore{limiter.New(store, limiter.Rate{Limit: tokens, Period: window})}, nil
	},
}

type ululeStore struct {
	limiter *limiter.Limiter
}

func (u *ululeStore) Allow(key string) bool {
	c, err := u.limiter.Get(context.Background(), key)
	return err == nil && !c.Reached
}
