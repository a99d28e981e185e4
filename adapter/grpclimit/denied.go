package grpclimit

import (
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tickgate/tickgate"
)

// Reason is the reason in ErrorInfo.
const Reason = "RATE_LIMIT_EXCEEDED"

// pushbackName is the trailer that grpc's retry policy looks at.
const pushbackName = "grpc-retry-pushback-ms"

// Denied is a denial as an error with a gRPC status. Interceptors around this one,
// and callers of a limited client, find it with errors.As; over the wire only its
// status goes.
type Denied struct {
	FullMethod string
	Endpoint   string
	Decision   tickgate.Decision

	by *limiter
}

// Error says what limit denied and when to call again, in one line.
func (d *Denied) Error() string {
	s := "rate limit exceeded for " + strconv.Quote(d.Endpoint)
	if d.Decision.Limit != "" {
		s += ", limit " + strconv.Quote(d.Decision.Limit)
	}
	switch d.Decision.Reason {
	case tickgate.TooCostly:
		return s + ": it costs more than the limit ever holds"
	case tickgate.Full:
		return s + ": no room for another key"
	case tickgate.Limited, tickgate.Banned, tickgate.Unsettled:
		if wait, ok := d.retry(); ok {
			return s + ": call again in " + wait.String()
		}
		return s + ": the tokens are not there before the deadline"
	}
	return s + ": " + d.Decision.Reason.String()
}

// GRPCStatus is RESOURCE_EXHAUSTED with RetryInfo, QuotaFailure and ErrorInfo.
func (d *Denied) GRPCStatus() *status.Status {
	// A method's name is the caller's and may be any bytes; a status must be UTF-8.
	endpoint := strings.ToValidUTF8(d.Endpoint, "\uFFFD")
	bare := status.New(codes.ResourceExhausted, d.Error())
	details := make([]protoadapt.MessageV1, 0, 3)
	if wait, ok := d.retry(); ok {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(wait)})
	}
	st, err := bare.WithDetails(append(details,
		&errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{
			Subject: endpoint, Description: bare.Message(), QuotaId: d.Decision.Limit,
		}}},
		&errdetails.ErrorInfo{Reason: Reason, Domain: d.by.domain, Metadata: map[string]string{
			"endpoint": endpoint, "limit": d.Decision.Limit, "cause": d.Decision.Reason.String(),
		}})...)
	if err != nil {
		return bare // not reached: all of it is UTF-8
	}
	return st
}

// retry returns when the call would pass, if time alone makes it.
func (d *Denied) retry() (time.Duration, bool) {
	wait := d.Decision.RetryAfter
	return wait, wait > 0 && wait != tickgate.Never
}

// pushback is the trailer: milliseconds, rounded up lest the retry come too early. The
// value is defined as 32 bits, so a wait of more than 24 days is none.
func (d *Denied) pushback() metadata.MD {
	ms := int64(-1)
	if wait, ok := d.retry(); ok {
		if n := int64((wait-1)/time.Millisecond) + 1; n <= math.MaxInt32 {
			ms = n
		}
	}
	return metadata.Pairs(pushbackName, strconv.FormatInt(ms, 10))
}
