package clock_test

import (
	"fmt"
	"time"

	"github.com/tickgate/tickgate/clock"
)

func ExampleManual() {
	c := clock.NewManual(0)
	w := clock.NewManualWall(24 * time.Hour)
	c.Advance(1500 * time.Millisecond)
	fmt.Println(time.Duration(c.Now()), time.Unix(0, w.UnixNano(c.Now())).UTC().Format(time.RFC3339Nano))
	// Output: 1.5s 1970-01-02T00:00:01.5Z
}
