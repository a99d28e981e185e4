//go:build linux

package faults

import (
	"fmt"
	"strings"
	"time"

	"github.com/tickgate/tickgate/redisync/admitted"
)

// cold is the row of many keys of which each is seen once or twice.
func cold() []Scenario {
	many := usual("cold", Credit, "many keys, most of them cold").with(func(s *Scenario) {
		s.Nodes = 2
		s.Limit = admitted.Limit{Tokens: 200, Per: time.Second, Capacity: 20}
		s.Credit = 4
		s.Load = Load{PerSecond: 8000, Keys: 20_000, Skew: 1.1}
		s.Length = 1500 * time.Millisecond
		s.expect(0, "")
		s.Expect.Admitted = 0
		s.Check = everyKeyExpires
	})
	return []Scenario{many}
}

// keepFor is how long Redis keeps a budget that is full, at most.
const keepFor = time.Minute

// everyKeyExpires checks that no budget in Redis outlives the time in which it is full
// again by more than it is kept.
func everyKeyExpires(b *Bench, _ *Result) error {
	l := b.scenario.Limit
	most := keepFor + time.Duration(float64(l.Capacity+8*b.scenario.Credit)/l.Refill(time.Second)*float64(time.Second)) + time.Second
	seen := 0
	for _, s := range b.masters() {
		for _, key := range s.Keys() {
			if !strings.Contains(key, Endpoint) {
				continue
			}
			seen++
			ttl := s.Must("PTTL", key).(int64)
			if ttl == -1 || time.Duration(ttl)*time.Millisecond > most {
				return fmt.Errorf("the key %s expires in %d ms (-1: never), not within %v", key, ttl, most)
			}
			if seen > 300 { // a look at each is slow
				return nil
			}
		}
	}
	if seen == 0 {
		return fmt.Errorf("there is no budget in Redis")
	}
	return nil
}
