package bench

import (
	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// batchSize is how many requests one TakeBatch decides.
const batchSize = 64

// batchCalls asks for n keys in batches of batchSize, so that ns/op is for one
// key. The clock is read once a batch. The requests lie ready in memory, as for
// a caller who has read a whole packet of them.
func batchCalls(g *tickgate.Gate, c clock.Clock, keys []string) calls {
	reqs := make([]tickgate.Request, len(keys))
	for i, k := range keys {
		reqs[i] = tickgate.Request{APIKey: k, Endpoint: endpointName, N: 1}
	}
	var out [batchSize]tickgate.Decision
	at := 0
	return func(_, n int) (allowed int) {
		for n > 0 {
			if at == len(reqs) {
				at = 0
			}
			size := min(batchSize, n, len(reqs)-at)
			g.TakeBatch(c.Now(), reqs[at:at+size], out[:size])
			for i := range out[:size] {
				allowed += count(out[i].Allowed)
			}
			at += size
			n -= size
		}
		return allowed
	}
}
