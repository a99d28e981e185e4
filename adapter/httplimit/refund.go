package httplimit

import (
	"context"
	"net/http"

	"github.com/tickgate/tickgate"
)

// ticket is what a limiter took for a request, for giving it back.
type ticket struct {
	gate          *tickgate.Gate
	key, endpoint string
	decision      tickgate.Decision
	outer         *ticket // of a limiter around this one
}

type ticketKey struct{}

// withTicket returns a request that carries t.
func withTicket(r *http.Request, t *ticket) *http.Request {
	t.outer, _ = r.Context().Value(ticketKey{}).(*ticket)
	return r.WithContext(context.WithValue(r.Context(), ticketKey{}, t))
}

// giveBack gives back what limiters took for the request of a context: what time has
// not refilled since. It is called once.
func giveBack(ctx context.Context) {
	t, _ := ctx.Value(ticketKey{}).(*ticket)
	for ; t != nil; t = t.outer {
		h, err := t.gate.Handle(t.key, t.endpoint)
		if err != nil {
			continue // no room, or no policy any more: the token stays taken
		}
		h.Refund(t.decision)
		h.Release()
	}
}
