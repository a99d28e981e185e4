package peer

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/tickgate/tickgate/bench/internal/load"
)

// newXTime returns a golang.org/x/time/rate bucket: float tokens under a mutex.
// It holds one bucket, so that the map of keys is the caller's business; the
// two usual ways are measured.
func newXTime(l load.Limit) *rate.Limiter {
	return rate.NewLimiter(rate.Every(l.Per/time.Duration(l.Tokens)), int(l.Burst))
}
