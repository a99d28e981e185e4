package ratecompat_test

import (
	"fmt"
	"time"

	rate "github.com/tickgate/tickgate/ratecompat"
)

func Example() {
	lim := rate.NewLimiter(rate.Every(100*time.Millisecond), 2)
	now := time.Now()
	for range 3 {
		fmt.Println(lim.AllowN(now, 1))
	}
	r := lim.ReserveN(now, 1)
	fmt.Println(r.DelayFrom(now))
	r.CancelAt(now)
	fmt.Println(lim.TokensAt(now.Add(150 * time.Millisecond)))
	// Output:
	// true
	// true
	// false
	// 100ms
	// 1.5
}
