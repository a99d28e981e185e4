package envoyrls

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// Server answers ShouldRateLimit. Make one with [New], and register it with
// ratelimitv3.RegisterRateLimitServiceServer. It is for any number of goroutines.
type Server struct {
	ratelimitv3.UnimplementedRateLimitServiceServer

	gate    *tickgate.Gate
	clock   clock.Clock
	headers Headers
	source  string
	denied  func(*Denial)
	count   counters

	mu      sync.Mutex                // serializes Apply
	rules   atomic.Pointer[rules]     // in force: written under mu, read by requests
	version atomic.Uint64             // of rules
	last    atomic.Pointer[loadError] // of the last set of files; written under mu
	bars    atomic.Pointer[bars]      // written by the gate's audit hook, read by requests
}

type loadError struct{ err error }

// New makes a server and its gate, with the limits of files. It reports every fault at
// once; those of files are "name: line 3, column 5: field = value: reason".
func New(cfg Config, files ...File) (*Server, error) {
	rules, err := parse(files)
	if err := errors.Join(cfg.check(), err); err != nil {
		return nil, err
	}
	s := &Server{clock: cfg.Gate.Clock, headers: cfg.Headers, source: cfg.Source, denied: cfg.Denied}
	s.bars.Store(&bars{})
	cfg.Gate.Policies, cfg.Gate.Audit = rules.set, s.audited(cfg.Gate.Audit)
	if s.gate, err = tickgate.New(cfg.Gate); err != nil {
		return nil, err
	}
	s.rules.Store(rules)
	s.version.Store(1)
	s.count.loaded.Add(1)
	s.last.Store(&loadError{})
	return s, nil
}

// Gate returns the gate, for its statistics, and to block and unblock keys: a request with
// a blocked key is OVER_LIMIT, and every request while everyone is blocked. Its policies are
// the server's: leave them to Apply.
func (s *Server) Gate() *tickgate.Gate { return s.gate }

// ShouldRateLimit answers a request; the package comment says how. Errors are
// INVALID_ARGUMENT, UNIMPLEMENTED, and INTERNAL where somebody else took the policies
// away from the gate. What Envoy does then is its failure_mode_deny.
func (s *Server) ShouldRateLimit(_ context.Context, req *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	s.count.requests.Add(1)
	answer, err := s.answer(req)
	if err != nil {
		s.count.refused.Add(1)
		return nil, err
	}
	if answer.OverallCode == ratelimitv3.RateLimitResponse_OVER_LIMIT {
		s.count.overLimit.Add(1)
	}
	return answer, nil
}

func (s *Server) answer(req *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	if err := check(req); err != nil {
		return nil, err
	}
	for {
		r := s.rules.Load()
		q := r.resolve(req)
		q.bar(s.bars.Load())
		if s.decide(q) {
			s.count.unmatched.Add(q.unmatched)
			s.tell(req.GetDomain(), q)
			return s.respond(q), nil
		}
		// A limit was gone from the gate: an Apply is under way, or has been. Once it is
		// through, the rules are those of the gate again.
		s.mu.Lock()
		same := s.rules.Load() == r
		s.mu.Unlock()
		if same {
			return nil, status.Error(codes.Internal, "the gate has lost the policy of a limit; apply the files again")
		}
	}
}

// check refuses requests that have no answer.
func check(req *ratelimitv3.RateLimitRequest) error {
	n := len(req.GetDescriptors())
	switch {
	case req.GetDomain() == "":
		return status.Error(codes.InvalidArgument, "domain must not be empty: set it in Envoy's rate limit filter")
	case n == 0:
		return status.Error(codes.InvalidArgument, "descriptors must not be empty")
	case n > MaxDescriptors:
		return status.Error(codes.InvalidArgument, fmt.Sprintf("there are %d descriptors; at most %d", n, MaxDescriptors))
	}
	for i, d := range req.GetDescriptors() {
		if d.GetLimit() != nil {
			return status.Error(codes.Unimplemented, fmt.Sprintf("descriptors[%d].limit: overrides are not supported; write the limit into the file", i))
		}
	}
	return nil
}
