package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/internal/redisserver"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
)

const (
	sharers    = 2    // gates that share the budgets, as two processes would
	sharedKeys = 2000 // of each case; all of them are in use

	plenty = "100000000/s"
)

// redis are decisions on budgets that gates share through a redis-server, which is started
// for each case: what asks Redis runs beside them, as fast as it can.
func redis() []Case {
	return []Case{
		{"credit", "every way, redis", Some, synced(redisync.Credit, true)},
		{"lease", "every way, redis", Some, synced(redisync.Lease, true)},
		{"credit", "spent, redis", Some, synced(redisync.Credit, false)},
		{"strict", "sync-take, redis", Some, strictly},
	}
}

// openSynced makes the gates, and has the driver end all that was started.
func openSynced(mode redisync.Mode, limit string, credit int64) (gates []*tickgate.Gate, syncs []*redisync.Sync, d *Driver, err error) {
	url, stop, err := redisserver.Start(nil)
	if errors.Is(err, redisserver.ErrNotInstalled) {
		err = fmt.Errorf(`%w; or leave these paths out: -only "^(hot|trading|churn|apply|denials)/"`, err)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	d = &Driver{Close: func() (err error) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		for i, g := range gates {
			if i < len(syncs) {
				err = errors.Join(err, syncs[i].Close(ctx))
			}
			err = errors.Join(err, g.Close())
		}
		stop()
		return err
	}}
	p := policyOf(endpoint, limit)
	p.Credit = credit
	for range sharers {
		g, err := tickgate.New(tickgate.Config{MaxKeys: 2 * sharedKeys, Policies: policy.Set{p}})
		if err != nil {
			return nil, nil, nil, errors.Join(err, d.Close())
		}
		gates = append(gates, g)
		s, err := redisync.New(context.Background(), redisync.Config{
			Gate: g, URL: url, Policies: map[string]redisync.Mode{endpoint: mode}, Nodes: sharers,
			Interval: time.Millisecond, Deadline: time.Second,
			Quiet: time.Hour, // this Redis is new: nobody has leases on it
			Log:   slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		if err != nil {
			return nil, nil, nil, errors.Join(err, d.Close())
		}
		syncs = append(syncs, s)
	}
	return gates, syncs, d, nil
}

// synced asks the gates in turn, in every way. Where the limit is not ample, most calls are
// denied, and credits are spent all the time.
func synced(mode redisync.Mode, ample bool) func(int) (*Driver, error) {
	limit, credit := "1000/s", int64(100)
	if ample {
		limit, credit = plenty, 1<<20
	}
	return func(workers int) (*Driver, error) {
		gates, _, d, err := openSynced(mode, limit, credit)
		if err != nil {
			return nil, err
		}
		var pinned []tickgate.Handle
		for _, g := range gates {
			hs, err := d.handles(g, "session")
			if err != nil {
				return nil, errors.Join(err, d.Close())
			}
			pinned = append(pinned, hs...)
		}
		if err := admitting(pinned); err != nil {
			return nil, errors.Join(err, d.Close())
		}
		keys := names("", sharedKeys)
		d.Calls = func(worker int) func(int) int {
			g, h := gates[worker%len(gates)], pinned[worker%len(gates)]
			e := g.Endpoint(endpoint)
			i := worker * len(keys) / workers
			return func(n int) (allowed int) {
				for call := range n {
					k, ok := keys[i], false
					switch call % 4 {
					case 0:
						ok = g.Allow(k, endpoint)
					case 1:
						ok = g.Take(k, endpoint, 1).Allowed
					case 2:
						ok = e.Allow(k)
					default:
						ok = h.Allow()
					}
					if ok {
						allowed++
					}
					if i++; i == len(keys) {
						i = 0
					}
				}
				return allowed
			}
		}
		return d, nil
	}
}

// admitting waits until each of the keys was admitted: a lease is granted to who asked for
// it before.
func admitting(keys []tickgate.Handle) error {
	end := time.Now().Add(5 * time.Second)
	for _, h := range keys {
		for !h.Allow() {
			if time.Now().After(end) {
				return errors.New("redis: nothing was admitted within 5 s")
			}
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// strictly asks Redis at each call: that waits, and is no decision of a gate alone.
func strictly(workers int) (*Driver, error) {
	_, syncs, d, err := openSynced(redisync.Strict, plenty, 0)
	if err != nil {
		return nil, err
	}
	keys := names("", sharedKeys)
	d.Calls = func(worker int) func(int) int {
		s, i := syncs[worker%len(syncs)], worker*len(keys)/workers
		return func(n int) (allowed int) {
			for range n {
				if d, _ := s.Take(context.Background(), keys[i], endpoint, 1); d.Allowed {
					allowed++
				}
				if i++; i == len(keys) {
					i = 0
				}
			}
			return allowed
		}
	}
	return d, nil
}
