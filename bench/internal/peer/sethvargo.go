package peer

import (
	"context"

	"github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"

	"github.com/tickgate/tickgate/bench/internal/load"
)

// sethvargo is github.com/sethvargo/go-limiter with its memory store: fixed
// windows from the first call of a key, in a map under a read-write mutex.
// Idle keys are dropped by a sweep every six hours, which no run reaches. Its
// answer holds the remaining tokens and the time of the reset as well.
//
// When a window turns, this version hands out the window in nanoseconds divided
// by the tokens, for every window gone by, and not the tokens: of 1e9 a second,
// one. So a run stays within one window, of a day.
var sethvargo = Lib{
	Name: "sethvargo", Keyed: true, CanDeny: true,
	New: func(l load.Limit, keys int) (Limiter, error) {
		tokens, window := l.OfDay()
		store, err := memorystore.New(&memorystore.Config{
			Tokens:       uint64(tokens),
			Interval:     window,
			InitialAlloc: keys,
		})
		if err != nil {
			return nil, err
		}
		return &sethvargoStore{store}, nil
	},
}

type sethvargoStore struct {
	store limiter.Store
}

func (s *sethvargoStore) Allow(key string) bool {
	_, _, _, ok, err := s.store.Take(context.Background(), key)
	return ok && err == nil
}

// Close stops the store's sweep.
func (s *sethvargoStore) Close() error {
	return s.store.Close(context.Background())
}
