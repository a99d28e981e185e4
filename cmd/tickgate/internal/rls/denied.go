package rls

import (
	"context"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"

	"github.com/tickgate/tickgate"
)

// labels tell profiles what a goroutine does.
var labels = pprof.Labels("path", "rls")

// labelled is between gRPC and the service: it labels the goroutine, which is the
// call's own, and tells of denials.
func (s *Service) labelled(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx = pprof.WithLabels(ctx, labels)
	pprof.SetGoroutineLabels(ctx)
	out, err := next(ctx, req)
	q, asked := req.(*ratelimitv3.RateLimitRequest)
	answer, answered := out.(*ratelimitv3.RateLimitResponse)
	if asked && answered && err == nil && s.cfg.Denied != nil && answer.GetOverallCode() == ratelimitv3.RateLimitResponse_OVER_LIMIT {
		s.tell(q, answer)
	}
	return out, err
}

// tell tells of each descriptor that was over its limit.
func (s *Service) tell(q *ratelimitv3.RateLimitRequest, answer *ratelimitv3.RateLimitResponse) {
	for i, status := range answer.GetStatuses() {
		if status.GetCode() != ratelimitv3.RateLimitResponse_OVER_LIMIT {
			continue
		}
		d := q.GetDescriptors()[i] // as many, in the same order
		s.cfg.Denied(text(d), q.GetDomain(), hits(q, d), &tickgate.Decision{
			Reason: tickgate.Limited, Limit: limitOf(status),
			RetryAfter: time.Duration(status.GetDurationUntilReset().GetSeconds())*time.Second + time.Duration(status.GetDurationUntilReset().GetNanos()),
		})
	}
}

// text is a descriptor as "desk=7,region=eu".
func text(d *commonv3.RateLimitDescriptor) string {
	var b strings.Builder
	for i, e := range d.GetEntries() {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(e.GetKey())
		b.WriteByte('=')
		b.WriteString(e.GetValue())
	}
	return b.String()
}

// hits is what was asked for.
func hits(q *ratelimitv3.RateLimitRequest, d *commonv3.RateLimitDescriptor) int64 {
	if own := d.GetHitsAddend(); own != nil {
		return int64(own.GetValue())
	}
	return int64(max(1, q.GetHitsAddend()))
}

// limitOf is the limit that a status is of, by its name or as "5 per minute".
func limitOf(s *ratelimitv3.RateLimitResponse_DescriptorStatus) string {
	l := s.GetCurrentLimit()
	if l.GetName() != "" {
		return l.GetName()
	}
	return strconv.FormatUint(uint64(l.GetRequestsPerUnit()), 10) + " per " + strings.ToLower(l.GetUnit().String())
}
