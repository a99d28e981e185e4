//go:build linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
	"github.com/tickgate/tickgate/redisync/admitted"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// measureCold makes strict decisions, first alone, then while 100 hot keys are used
// all the time and every cold key once. In a long run it waits until Redis has
// forgotten all of them.
func measureCold(t redistest.T, length time.Duration) []Figure {
	const hot, perSecond, strictly = 100, 10_000, "order.cancel"
	cold := 100_000
	if length < 2*time.Second {
		cold = perSecond / 2
	}
	span := time.Duration(cold) * time.Second / perSecond
	limit := admitted.Limit{Tokens: 1000, Per: time.Second, Capacity: 100}
	wide := admitted.Limit{Tokens: 1_000_000, Per: time.Second, Capacity: 1_000_000}
	server := redistest.Start(t, redistest.Options{})
	set := policy.Set{shared(Endpoint, 16, limit), shared(strictly, 16, wide)}
	s := startSingle(t, server.URL(), 2*cold, set, redisync.Config{
		Policies: map[string]redisync.Mode{Endpoint: redisync.Credit, strictly: redisync.Strict}, Deadline: time.Second,
	})
	p := dialPing(t, server.Addr())
	defer p.conn.Close()
	alone, _, _ := alternate(s, strictly, p, min(span, time.Second))
	before := usedMemory(server)

	var over atomic.Bool
	done := make(chan int)
	go func() {
		used := 0
		e := s.gate.Endpoint(Endpoint)
		for start := time.Now(); !over.Load(); time.Sleep(time.Millisecond) {
			for range 50 {
				e.Allow(KeyName(rand.IntN(hot)))
			}
			for due := int(float64(cold) * min(1, time.Since(start).Seconds()/span.Seconds())); used < due; used++ {
				e.Allow(KeyName(hot + used))
			}
		}
		done <- used
	}()
	beside, _, failed := alternate(s, strictly, p, span)
	over.Store(true)
	used := <-done
	peak := usedMemory(server)
	s.close()
	figures := []Figure{
		plain("cold keys used once", used),
		plain("strict p50 and p99, alone", fmt.Sprintf("%v, %v", quantile(alone, .5), quantile(alone, .99))),
		plain("strict p50 and p99, beside", fmt.Sprintf("%v, %v", quantile(beside, .5), quantile(beside, .99))),
		plain("strict decisions denied", failed),
		plain("Redis' memory before, at most", fmt.Sprintf("%d KiB, %d KiB", before>>10, peak>>10)),
	}
	if length < 2*time.Second {
		return figures
	}
	p.conn.Close()
	left, deadline := -1, time.Now().Add(keepFor+10*time.Second)
	for ; left != 0 && time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		left = int(server.Must("DBSIZE").(int64))
	}
	after := usedMemory(server)
	return append(figures,
		figure("keys left when all are full and forgotten", left, "0", left == 0),
		figure("Redis' memory then", fmt.Sprintf("%d KiB", after>>10), "within 1 MiB of before", after < before+1<<20),
	)
}
