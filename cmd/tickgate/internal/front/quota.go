package front

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/policy"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/visit"
)

// quota is a store in which no caller has more than a number of results at one time:
// nobody then takes the room of all others for as long as results are kept.
//
// It is kept by a gate: half of the number at once, and as many again in the time that
// results are kept. So it bounds how many are made within that time, wherever it begins.
// A gate knows no rate below one a day, which is what the least quotas are given.
type quota struct {
	*idem.Store
	gate *tickgate.Gate
}

const records = "records" // the gate's only endpoint

// errQuota is what a caller gets that has as many results as one may.
var errQuota = errors.New("front: the caller has as many results kept as one may")

// newQuota makes a quota of most results, 2 or more, for each of at most callers that
// have any.
func newQuota(store *idem.Store, most, callers int, c clock.Clock) (*quota, error) {
	half := int64(most) / 2
	per := min(store.TTL(), policy.MaxPer-policy.Day) // to leave room for rounding up
	days := int64((per + policy.Day - 1) / policy.Day)
	gate, err := tickgate.New(tickgate.Config{
		Policies: policy.Set{{Endpoint: records, Limits: []policy.Limit{{
			Name: "results", Tokens: max(half, days), Per: per, Burst: half,
		}}}},
		MaxKeys: callers, Clock: c,
	})
	if err != nil {
		return nil, fmt.Errorf("the quota of results for each caller: %w", err)
	}
	return &quota{store, gate}, nil
}

// taken is what was taken for the record of a request.
type taken struct {
	caller   string
	decision tickgate.Decision
}

type takenKey struct{}

// within returns a context in which the store's Begin and Release belong together.
func (*quota) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, takenKey{}, &taken{caller: visit.In(ctx).Caller})
}

// Begin asks the store first, so that retries of what is kept cost nothing.
func (q *quota) Begin(ctx context.Context, key idem.Key, print idem.Fingerprint) (idem.Claim, error) {
	claim, err := q.Store.Begin(ctx, key, print)
	if err != nil || !claim.Acquired {
		return claim, err
	}
	t := ctx.Value(takenKey{}).(*taken)
	t.decision = q.gate.Take(t.caller, records, 1)
	if t.decision.Allowed {
		return claim, nil
	}
	if err := q.Store.Release(context.WithoutCancel(ctx), claim.Token); err != nil {
		return idem.Claim{}, err
	}
	return idem.Claim{}, refusedRecord(t.decision.RetryAfter)
}

// Release gives back what was taken: nothing is kept.
func (q *quota) Release(ctx context.Context, token idem.Token) error {
	err := q.Store.Release(ctx, token)
	t := ctx.Value(takenKey{}).(*taken)
	if err != nil {
		return err // it may be kept after all
	}
	if h, noRoom := q.gate.Handle(t.caller, records); noRoom == nil {
		h.Refund(t.decision)
		h.Release()
	}
	return nil
}

func refusedRecord(retry time.Duration) error {
	return &httplimit.Error{
		Status: http.StatusTooManyRequests, Code: "idempotency_quota", Retry: max(retry, 1), Err: errQuota,
		Detail: "The caller has as many results of requests with idempotency keys kept as one may.",
	}
}
