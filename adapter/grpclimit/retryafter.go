package grpclimit

import (
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
)

// RetryAfter returns what a call's error says about calling again: the RetryInfo of
// its status, whether it came from a server or from a client's own limit. ok is false
// where it has none, as for a call that can never pass, or one that makes no sense.
func RetryAfter(err error) (wait time.Duration, ok bool) {
	st, ok := status.FromError(err)
	if !ok {
		return 0, false
	}
	for _, detail := range st.Details() {
		info, ok := detail.(*errdetails.RetryInfo)
		if !ok || info.GetRetryDelay().CheckValid() != nil {
			continue
		}
		if wait := info.GetRetryDelay().AsDuration(); wait >= 0 {
			return wait, true
		}
	}
	return 0, false
}
