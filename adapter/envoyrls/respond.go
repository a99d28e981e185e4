package envoyrls

import (
	"math"
	"strconv"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	okCode   = ratelimitv3.RateLimitResponse_OK
	overCode = ratelimitv3.RateLimitResponse_OVER_LIMIT
)

// respond writes the answer to a request that is decided.
func (s *Server) respond(q *request) *ratelimitv3.RateLimitResponse {
	answer := &ratelimitv3.RateLimitResponse{
		OverallCode: okCode,
		Statuses:    make([]*ratelimitv3.RateLimitResponse_DescriptorStatus, len(q.items)),
	}
	if q.over {
		answer.OverallCode = overCode
	}
	for i := range q.items {
		answer.Statuses[i] = q.status(&q.items[i])
	}
	if s.headers.any() {
		answer.ResponseHeadersToAdd = s.headers.of(q)
	}
	return answer
}

func (q *request) status(it *item) *ratelimitv3.RateLimitResponse_DescriptorStatus {
	switch {
	case it.barred && (it.rule == nil || it.rule.unlimited):
		return &ratelimitv3.RateLimitResponse_DescriptorStatus{Code: overCode}
	case it.rule == nil:
		return &ratelimitv3.RateLimitResponse_DescriptorStatus{Code: okCode}
	case it.rule.unlimited:
		return &ratelimitv3.RateLimitResponse_DescriptorStatus{Code: okCode, LimitRemaining: math.MaxUint32}
	}
	m := &q.members[it.member]
	status := &ratelimitv3.RateLimitResponse_DescriptorStatus{
		Code:               okCode,
		CurrentLimit:       m.rule.current,
		LimitRemaining:     uint32(min(max(m.left, 0), math.MaxUint32)),
		DurationUntilReset: durationpb.New(m.reset),
	}
	if it.barred || q.over && m.over && m.enforced() { // what was looked at after an admission may be used up by it
		status.Code = overCode
	}
	return status
}

// enforced reports whether m can deny.
func (m *member) enforced() bool { return !m.rule.shadow && !m.back }

// of returns the headers about the tightest limit, none if there is no limit.
func (h Headers) of(q *request) (headers []*corev3.HeaderValue) {
	var tight *member
	for i := range q.members {
		m := &q.members[i]
		if m.enforced() && (tight == nil || m.left < tight.left || m.left == tight.left && m.reset > tight.reset) {
			tight = m
		}
	}
	if tight == nil {
		return nil
	}
	add := func(name string, value uint64) {
		if name != "" {
			headers = append(headers, &corev3.HeaderValue{Key: name, Value: strconv.FormatUint(value, 10)})
		}
	}
	add(h.Limit, uint64(tight.rule.current.GetRequestsPerUnit()))
	add(h.Remaining, uint64(max(tight.left, 0)))
	seconds := tight.reset / time.Second
	if tight.reset%time.Second > 0 {
		seconds++
	}
	add(h.Reset, uint64(seconds))
	return headers
}
