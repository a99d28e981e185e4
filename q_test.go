package tickgate_test

import (
	"fmt"
	"testing"

	"github.com/tickgate/tickgate"
)

func TestQ(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		dropped := uint64(0)
		for range 5000 {
			g, _ := gateOf(t, tickgate.Config{MaxKeys: n}, "1000/s")
			together(8, func(i int) {
				for k := range n {
					g.Take(fmt.Sprint("key", k), endpoint, 1)
				}
			})
			dropped += g.Stats().Evictions.Forced
		}
		t.Log(n, dropped)
	}
}
