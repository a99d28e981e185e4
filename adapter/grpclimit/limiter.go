package grpclimit

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tickgate/tickgate"
)

// limiter decides, for either side.
type limiter struct {
	gate     *tickgate.Gate
	key      KeyFunc
	cost     CostFunc
	endpoint EndpointFunc
	onFault  FaultFunc
	messages Messages
	domain   string
	line     *line // nil: do not wait
}

func newLimiter(cfg *Config) *limiter {
	l := &limiter{
		gate: cfg.Gate, key: cfg.Key, cost: cfg.Cost, endpoint: cfg.Endpoint, onFault: cfg.OnFault,
		messages: cfg.Messages, domain: cfg.Domain,
	}
	if l.cost == nil {
		l.cost = func(context.Context, string, any) int64 { return 1 }
	}
	if l.endpoint == nil {
		l.endpoint = func(fullMethod string, _ Messages) string { return fullMethod }
	}
	if l.onFault == nil {
		l.onFault = FailClosed
	}
	if l.domain == "" {
		l.domain = DefaultDomain
	}
	if cfg.Wait {
		l.line = &line{gate: cfg.Gate}
	}
	return l
}

// admit takes the tokens of a call or a message, or returns the answer to it: a
// *Denied, a *Fault, or what the functions of the configuration chose.
func (l *limiter) admit(ctx context.Context, fullMethod string, req any, what Messages) error {
	n := l.cost(ctx, fullMethod, req)
	if n == 0 {
		return nil
	}
	key, err := l.key(ctx, fullMethod, req)
	switch st, ok := status.FromError(err); {
	case err == nil && key == "":
		return l.fault(ctx, fullMethod, codes.Internal, ErrNoKey)
	case err == nil:
	case ok && st.Code() != codes.OK:
		return err
	default:
		return l.fault(ctx, fullMethod, codes.Internal, err)
	}
	endpoint := l.endpoint(fullMethod, what)
	if l.line != nil {
		return l.wait(ctx, fullMethod, key, endpoint, n)
	}
	d := l.gate.Take(key, endpoint, n)
	switch {
	case d.Allowed:
		return nil
	case d.Reason == tickgate.NoPolicy:
		return l.fault(ctx, fullMethod, codes.Internal, tickgate.ErrNoPolicy)
	case d.Reason == tickgate.BadRequest && n < 0:
		return l.fault(ctx, fullMethod, codes.InvalidArgument, tickgate.ErrCost)
	case d.Reason == tickgate.BadRequest:
		return l.fault(ctx, fullMethod, codes.InvalidArgument, tickgate.ErrKey)
	}
	return &Denied{FullMethod: fullMethod, Endpoint: endpoint, Decision: d, by: l}
}

func (l *limiter) fault(ctx context.Context, fullMethod string, code codes.Code, err error) error {
	return l.onFault(ctx, &Fault{FullMethod: fullMethod, Code: code, Err: err})
}
