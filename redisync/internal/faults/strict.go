//go:build linux

package faults

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
	"github.com/tickgate/tickgate/redisync/admitted"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// measureStrict asks Redis for one token at a time, in turn with a PING on a bare
// connection.
func measureStrict(t redistest.T, length time.Duration) []Figure {
	limit := admitted.Limit{Tokens: 1_000_000, Per: time.Second, Capacity: 1_000_000}
	server := redistest.Start(t, redistest.Options{})
	s := startSingle(t, server.URL(), 1000, policy.Set{shared(Endpoint, 16, limit)}, redisync.Config{
		Policies: map[string]redisync.Mode{Endpoint: redisync.Strict}, Deadline: time.Second,
	})
	defer s.close()
	p := dialPing(t, server.Addr())
	defer p.conn.Close()
	takes, pings, failed := alternate(s, Endpoint, p, max(500*time.Millisecond, length))
	if failed > 0 {
		t.Logf("%d strict decisions of %d were denied", failed, len(takes))
	}
	take50, take99, ping50, ping99 := quantile(takes, .5), quantile(takes, .99), quantile(pings, .5), quantile(pings, .99)
	ratio := float64(take50) / float64(ping50)
	return []Figure{
		figure("decision, p50", take50, "< 500µs", take50 < 500*time.Microsecond),
		figure("decision, p99", take99, "< 500µs", take99 < 500*time.Microsecond),
		plain("PING, p50", ping50),
		plain("PING, p99", ping99),
		figure("ratio at p50", fmt.Sprintf("%.2f", ratio), "≤ 2.5", ratio <= 2.5),
	}
}

// alternate makes strict decisions and pings in turn.
func alternate(s *single, endpoint string, p *pinger, d time.Duration) (takes, pings []time.Duration, failed int) {
	ctx := context.Background()
	for i := range 200 { // connections, scripts, caches
		s.sync.Take(ctx, KeyName(i%10), endpoint, 1)
		p.ping(s.t)
	}
	for start, i := time.Now(), 0; time.Since(start) < d; i++ {
		before := time.Now()
		p.ping(s.t)
		between := time.Now()
		decision, err := s.sync.Take(ctx, KeyName(i%10), endpoint, 1)
		takes = append(takes, time.Since(between))
		pings = append(pings, between.Sub(before))
		if err != nil || !decision.Allowed {
			failed++
		}
	}
	return takes, pings, failed
}

// pinger is a bare connection to Redis.
type pinger struct {
	conn net.Conn
	in   *bufio.Reader
}

func dialPing(t redistest.T, addr string) *pinger {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatalf("no connection for PING: %v", err)
	}
	return &pinger{conn, bufio.NewReader(conn)}
}

func (p *pinger) ping(t redistest.T) {
	if _, err := p.conn.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
		t.Fatalf("PING: %v", err)
	}
	if _, err := readMessage(p.in, nil); err != nil {
		t.Fatalf("PING: %v", err)
	}
}
