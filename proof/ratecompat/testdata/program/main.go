// Program uses every method once, and prints what it sees. It is run twice: as it
// is, and with the import path changed.
package main

import (
	"context"
	"fmt"
	"time"

	rate "golang.org/x/time/rate"
)

func main() {
	var limit rate.Limit = rate.Every(125 * time.Millisecond)
	lim := rate.NewLimiter(limit, 4)
	now := time.Now()
	fmt.Println(lim.Limit(), lim.Burst(), lim.TokensAt(now), lim.AllowN(now, 3))

	r := lim.ReserveN(now, 2)
	fmt.Println(r.OK(), r.DelayFrom(now), r.DelayFrom(now.Add(time.Second)))
	r.CancelAt(now)
	fmt.Println(lim.ReserveN(now, 5).DelayFrom(now) == rate.InfDuration)
	lim.SetLimitAt(now, 4)
	lim.SetBurstAt(now, 6)
	fmt.Println(lim.TokensAt(now.Add(500 * time.Millisecond)))

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	fmt.Println(lim.WaitN(ctx, 7))
	lim.SetLimit(rate.Inf)
	lim.SetBurst(0)
	fmt.Println(lim.Allow(), lim.Reserve().Delay(), lim.Wait(ctx), lim.WaitN(ctx, 9))
	cancel()
	fmt.Println(lim.Wait(ctx))
	lim.Reserve().Cancel()
	lim.SetLimit(0)
	fmt.Println(lim.Tokens(), lim.Allow(), (&rate.Limiter{}).Allow())

	s := rate.Sometimes{First: 2, Every: 3, Interval: time.Hour}
	for i := range 8 {
		s.Do(func() { fmt.Print(i, " ") })
	}
	fmt.Println()
}
