package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/internal/redisserver"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
)

// The budgets that gates share through Redis. They are on the real clock: Redis has no
// other.
const (
	onCredit, onLease = "credit", "lease"

	remoteNodes  = 2
	remoteKeys   = 16 // of each
	remoteTokens = 200
	remoteBurst  = 50 // at most
	remoteCredit = 10
)

// fleet are gates that share budgets through a redis-server, as processes do.
type fleet struct {
	server func() // ends it
	gates  []*tickgate.Gate
	syncs  []*redisync.Sync
	judges map[string][]*judge // by endpoint, for each key; all gates together
	calls  atomic.Int64
	absent error // why there is none
}

func remoteSet(burst int64) policy.Set {
	l := limits(policy.Limit{Name: "budget", Tokens: remoteTokens, Per: time.Second, Burst: burst})
	return policy.Set{{Endpoint: onCredit, Credit: remoteCredit, Limits: l}, {Endpoint: onLease, Credit: remoteCredit, Limits: l}}
}

// newFleet starts the server, unless it is not installed, which the report tells.
func newFleet() (l *fleet, err error) {
	l = &fleet{judges: map[string][]*judge{}}
	url, stop, err := redisserver.Start(nil)
	if errors.Is(err, redisserver.ErrNotInstalled) {
		l.absent = err
		return l, nil
	} else if err != nil {
		return nil, err
	}
	l.server = stop
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	for range remoteNodes {
		g, err := tickgate.New(tickgate.Config{Policies: remoteSet(remoteBurst), MaxKeys: 1000})
		if err != nil {
			return nil, err
		}
		l.gates = append(l.gates, g)
		s, err := redisync.New(context.Background(), redisync.Config{
			Gate: g, URL: url, Nodes: remoteNodes, Interval: 20 * time.Millisecond,
			Policies: map[string]redisync.Mode{onCredit: redisync.Credit, onLease: redisync.Lease},
			Quiet:    time.Hour, // the server is new: nobody has leases on it
			Log:      slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		if err != nil {
			return nil, err
		}
		l.syncs = append(l.syncs, s)
	}
	for e, beyond := range map[string]int64{onCredit: (remoteNodes - 1) * remoteCredit, onLease: 0} {
		for i := range remoteKeys {
			j := newJudge(fmt.Sprint("key ", i, " on ", e), remoteTokens, time.Second, remoteBurst+beyond)
			j.slack = 5 // Redis' clock and ours may differ by 40 ppm for ten minutes
			l.judges[e] = append(l.judges[e], j)
		}
	}
	return l, nil
}

// drive takes from one of the gates, more than is there.
func (l *fleet) drive(ctx context.Context, r *rand.Rand, in int, f *faults) {
	now := clock.Default().Now
	for every(ctx, time.Millisecond) {
		for range 20 {
			e := onCredit
			if r.IntN(2) == 0 {
				e = onLease
			}
			i, n := r.IntN(remoteKeys), 1+r.Int64N(3)
			began := now()
			ok := l.gates[in].AllowN(fmt.Sprint("remote-", i), e, n)
			l.judges[e][i].sees(began, now(), n, ok, f)
			l.calls.Add(1)
		}
	}
}

// apply changes the capacity, and not the rate.
func (l *fleet) apply(n int64) (err error) {
	for _, g := range l.gates {
		err = errors.Join(err, g.Apply(remoteSet(remoteBurst-n%4*10)))
	}
	return err
}

// close ends the gates and the server.
func (l *fleet) close() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for i, g := range l.gates {
		if i < len(l.syncs) {
			err = errors.Join(err, l.syncs[i].Close(ctx))
		}
		err = errors.Join(err, g.Close())
	}
	if l.server != nil {
		l.server()
	}
	return err
}

// row is its line of the report.
func (l *fleet) row() row {
	r := row{what: "budgets in Redis", must: "on credit never above the bound, on leases never above the limit"}
	if l.absent != nil {
		r.got = "not run: " + l.absent.Error()
		return r
	}
	var admitted, denied int64
	closest := map[string]float64{}
	for e, all := range l.judges {
		for _, j := range all {
			admitted, denied = admitted+j.admitted, denied+j.denied
			closest[e] = max(closest[e], 100*j.closest)
		}
	}
	syncs := uint64(0)
	for _, s := range l.syncs {
		syncs += s.Stats().Acked
	}
	r.got = fmt.Sprintf("%d admitted, %d denied by %d gates, %d calls of Redis; at most %.0f %% used on credit, %.0f %% on leases",
		admitted, denied, len(l.gates), syncs, closest[onCredit], closest[onLease])
	return r
}
