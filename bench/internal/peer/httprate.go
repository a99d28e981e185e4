package peer

import (
	"fmt"
	"math"
	"net/http"

	"github.com/go-chi/httprate"

	"github.com/tickgate/tickgate/bench/internal/load"
)

// chiHTTPRate is github.com/go-chi/httprate with its counter in memory: a
// sliding window made of two fixed ones, which begin with the limiter. One mutex
// lets one call in at a time. It keeps a hash of the key and not the key, so two
// keys with one hash share a budget, and it forgets all keys of a window at
// once. What a web handler asks is asked here, without a request behind it: its
// only decision takes a request and a response, and it is told to write no header.
var chiHTTPRate = Lib{
	Name: "httprate", Keyed: true, CanDeny: true,
	New: func(l load.Limit, _ int) (Limiter, error) {
		tokens, window := l.OfDay()
		if tokens > math.MaxInt {
			return nil, fmt.Errorf("httprate: %d calls a window do not fit its int: use a 64-bit machine", tokens)
		}
		noHeaders := httprate.WithResponseHeaders(httprate.ResponseHeaders{})
		return &httprateCounter{httprate.NewRateLimiter(int(tokens), window, noHeaders), &http.Request{}}, nil
	},
}

type httprateCounter struct {
	limiter *httprate.RateLimiter
	request *http.Request // only its context is read
}

func (h *httprateCounter) Allow(key string) bool {
	return !h.limiter.OnLimit(noResponse{}, h.request, key)
}

// noResponse is a response that nobody reads.
type noResponse struct{}

func (noResponse) Header() http.Header         { return http.Header{} }
func (noResponse) Write(p []byte) (int, error) { return len(p), nil }
func (noResponse) WriteHeader(int)             {}
