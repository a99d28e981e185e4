package grpclimit

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
)

// clientStream limits messages. grpc promises that a stream is over once SendMsg or
// RecvMsg has failed, and callers stop looking after it then: so a denial has to
// cancel it, or it would stay open until its caller's context ends.
type clientStream struct {
	grpc.ClientStream
	l      *limiter
	method string
	many   bool // responses

	// ctx is the stream's: what its Context method returns ends retries.
	ctx    context.Context
	cancel context.CancelFunc

	over   atomic.Bool           // the stream has ended: set by RecvMsg, lets SendMsg stop asking
	denied atomic.Pointer[error] // the first denial or fault: set by either, returned by both
}

func (s *clientStream) SendMsg(m any) error {
	if err := s.denied.Load(); err != nil {
		return *err
	}
	if s.l.messages&Sent != 0 && !s.over.Load() {
		// Where the stream ended while this waited, grpc's own answer counts.
		if err := s.admit(m, Sent); err != nil && !s.over.Load() {
			return s.stop(err)
		}
	}
	return s.ClientStream.SendMsg(m)
}

func (s *clientStream) RecvMsg(m any) error {
	if err := s.denied.Load(); err != nil {
		return *err
	}
	err := s.ClientStream.RecvMsg(m)
	if err == nil && s.l.messages&Received != 0 {
		if denied := s.admit(m, Received); denied != nil {
			return s.stop(denied)
		}
	}
	if err != nil || !s.many {
		s.over.Store(true)
		s.cancel()
	}
	if denied := s.denied.Load(); err != nil && denied != nil {
		return *denied // and not that it was cancelled
	}
	return err
}

func (s *clientStream) admit(m any, what Messages) error {
	return s.l.admit(s.ctx, s.method, m, what)
}

// stop ends the stream with err, or with what ended it before.
func (s *clientStream) stop(err error) error {
	s.denied.CompareAndSwap(nil, &err)
	s.cancel()
	return *s.denied.Load()
}
