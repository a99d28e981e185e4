package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/tickgate/tickgate/redisync"
)

// link is the way of one node to the server: a [redisync.Transport]. A call takes from
// near to far to get there, and as long to come back; how long depends on the seed, the
// node and the time.
type link struct {
	grid   grid
	base   time.Time
	server *server
	node   int
	seed   uint64
	refuse bool // where the server is silent
}

// One way through the network.
const (
	near = 100 * time.Microsecond
	far  = 200 * time.Microsecond
)

// Sync makes the calls. Where the server is silent, it returns just before the deadline.
func (l *link) Sync(ctx context.Context, calls []redisync.Call, replies []redisync.Reply) {
	actor := 4*l.node + 1
	if calls[0].Args[0] != "c1" {
		actor++
	}
	now := time.Since(l.base)
	arrive := l.grid.next(now+l.way(now, actor), actor)
	limit, ok := ctx.Deadline()
	end := l.grid.last(limit.Sub(l.base), actor)
	if !ok {
		end = arrive + time.Hour
	}
	if arrive > end {
		l.lost(end, replies)
		return
	}
	until(l.base, arrive)
	done, served := l.server.serve(arrive, calls, replies)
	back := l.grid.next(done+l.way(arrive, actor+1), actor)
	if !served && l.refuse {
		for i := range replies {
			replies[i] = redisync.Reply{Err: redisync.ErrDown}
		}
		return
	}
	if !served || back > end {
		l.lost(end, replies)
		return
	}
	until(l.base, back)
}

func (l *link) lost(end time.Duration, replies []redisync.Reply) {
	if end > time.Since(l.base) {
		until(l.base, end)
	}
	for i := range replies {
		replies[i] = redisync.Reply{Err: fmt.Errorf("no reply: %w", redisync.ErrUnknown)}
	}
}

// Call makes one call.
func (l *link) Call(ctx context.Context, c redisync.Call) redisync.Reply {
	replies := make([]redisync.Reply, 1)
	l.Sync(ctx, []redisync.Call{c}, replies)
	return replies[0]
}

// Close does nothing: there is no connection.
func (l *link) Close() {}

// way is how long one way takes.
func (l *link) way(now time.Duration, actor int) time.Duration {
	x := l.seed ^ uint64(now)*0x9e3779b97f4a7c15 ^ uint64(actor)<<48
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	return near + time.Duration((x^x>>32)%uint64(far-near))
}
