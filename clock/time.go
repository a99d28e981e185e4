package clock

import (
	"math"
	"time"
)

// Time is a point on a monotonic axis: nanoseconds since an arbitrary start. It is never wall time, and only
// differences of Times of one clock mean something. The real clocks of this package share one start per process, so
// their Times lie near each other, but for what is said at [TSC] about suspensions.
type Time int64

// Clock tells the time. Now never goes back within a goroutine, nor between goroutines when the later reading
// happens after the earlier one in the sense of the Go memory model; [Manual], which can be set back, is the
// exception. Implementations are safe for concurrent use and do not allocate in Now.
type Clock interface {
	Now() Time
}

// Add returns t + d. It saturates at the ends of the int64 range instead of wrapping.
func (t Time) Add(d time.Duration) Time {
	return Time(addSaturating(int64(t), int64(d)))
}

// Sub returns t - u. It saturates at the ends of the int64 range instead of wrapping.
func (t Time) Sub(u Time) time.Duration {
	d := int64(t) - int64(u)
	switch {
	case t >= 0 && u < 0 && d < 0:
		return math.MaxInt64
	case t < 0 && u > 0 && d >= 0:
		return math.MinInt64
	}
	return time.Duration(d)
}

func addSaturating(a, b int64) int64 {
	s := a + b
	switch {
	case a > 0 && b > 0 && s < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && s >= 0:
		return math.MinInt64
	}
	return s
}
