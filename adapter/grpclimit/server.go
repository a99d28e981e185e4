package grpclimit

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// Server limits the calls that a server gets. Its methods Unary and Stream are the
// interceptors. It is for any number of goroutines, and follows tickgate.Gate.Apply.
type Server struct{ l *limiter }

// NewServer reports every fault of the configuration at once, each a
// tickgate.ConfigError.
func NewServer(cfg Config) (*Server, error) {
	if err := cfg.check(true); err != nil {
		return nil, err
	}
	return &Server{newLimiter(&cfg)}, nil
}

// Unary is a grpc.UnaryServerInterceptor. A denied call does not reach the handler.
func (s *Server) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	err := s.l.admit(ctx, info.FullMethod, req, 0)
	if err == nil {
		return handler(ctx, req)
	}
	if d := s.denied(err); d != nil {
		// It fails only where grpc is not what carries the call; the status is there then too.
		_ = grpc.SetTrailer(ctx, d.pushback())
	}
	return nil, err
}

// Stream is a grpc.StreamServerInterceptor. A stream that is denied at its opening
// does not reach the handler. A message that is denied is an error of the handler's
// RecvMsg or SendMsg: a received one is dropped, one to be sent is not sent. The
// handler is to return that error, which ends the stream with its status; if it goes
// on instead, the stream does.
func (s *Server) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	err := s.l.admit(ss.Context(), info.FullMethod, nil, 0)
	if err == nil {
		if s.l.messages != 0 {
			ss = &serverStream{ss, s.l, info.FullMethod}
		}
		err = handler(srv, ss)
	}
	// Once for a stream: two of them, and a client does not retry at all.
	if d := s.denied(err); d != nil {
		ss.SetTrailer(d.pushback())
	}
	return err
}

// Limit is the Limiter of go-grpc-middleware v2, for its server interceptors: it
// takes for the call whose context ctx is, with a request of nil, and returns the
// *[Denied]. Those interceptors make a new status of the error's text, so RetryInfo,
// QuotaFailure and ErrorInfo are lost, and a fault becomes RESOURCE_EXHAUSTED too; the
// pushback trailer still goes out. Prefer Unary and Stream.
func (s *Server) Limit(ctx context.Context) error {
	var err error
	if fullMethod, ok := grpc.Method(ctx); ok {
		err = s.l.admit(ctx, fullMethod, nil, 0)
	} else {
		err = s.l.fault(ctx, "", codes.Internal, errNoMethod)
	}
	if f := (*Fault)(nil); errors.As(err, &f) {
		return f.GRPCStatus().Err() // its text goes to the caller
	}
	if d := s.denied(err); d != nil {
		_ = grpc.SetTrailer(ctx, d.pushback())
	}
	return err
}

// denied returns the denial that err is, if it is one of this server and not, say,
// what a client of the handler's returned.
func (s *Server) denied(err error) *Denied {
	if d := (*Denied)(nil); errors.As(err, &d) && d.by == s.l {
		return d
	}
	return nil
}

// serverStream limits messages.
type serverStream struct {
	grpc.ServerStream
	l          *limiter
	fullMethod string
}

// RecvMsg limits a message once it is there: before, its cost is not known.
func (s *serverStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err == nil && s.l.messages&Received != 0 {
		err = s.l.admit(s.Context(), s.fullMethod, m, Received)
	}
	return err
}

func (s *serverStream) SendMsg(m any) error {
	if s.l.messages&Sent != 0 {
		if err := s.l.admit(s.Context(), s.fullMethod, m, Sent); err != nil {
			return err
		}
	}
	return s.ServerStream.SendMsg(m)
}
