package front

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/httplimit"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/visit"
)

// fail notes the code of an answer that is not the upstream's.
func (f *Front) fail(w http.ResponseWriter, r *http.Request, e *httplimit.Error) {
	v := visit.Of(r)
	v.Error = e.Code
	switch {
	case errors.Is(e.Err, tickgate.ErrFull):
		f.tell(v, &tickgate.Decision{Reason: tickgate.Full, RetryAfter: tickgate.Never})
	case errors.Is(e.Err, tickgate.ErrNoPolicy):
		f.tell(v, &tickgate.Decision{Reason: tickgate.NoPolicy, RetryAfter: tickgate.Never})
	}
	httplimit.WriteError(w, r, e)
}

// deny notes what denied a request. What the gate may not decide alone is asked for
// first.
func (f *Front) deny(w http.ResponseWriter, r *http.Request, d *httplimit.Denial) {
	v := visit.Of(r)
	if d.Decision.Reason == tickgate.Unsettled && f.cfg.Ask != nil && f.cfg.Strict(d.Endpoint) {
		// An error says that nobody could decide. Then it is a denial, and the reason tells.
		asked, err := f.cfg.Ask(r.Context(), v.Caller, d.Endpoint, 1)
		if err != nil {
			v.Cause = "the shared budget could not be asked for"
		}
		settle(w.Header(), &asked)
		if asked.Allowed {
			f.behind.ServeHTTP(w, r)
			return
		}
		d.Decision, d.RetryAfter = asked, seconds(asked.RetryAfter)
	}
	if v.Limit = d.Decision.Limit; v.Limit == "" {
		v.Limit = d.Decision.Reason.String() // of a ban or a block
	}
	f.tell(v, &d.Decision)
	httplimit.WriteDenial(w, r, d)
}

func (f *Front) tell(v *visit.Visit, d *tickgate.Decision) {
	if f.cfg.Denied != nil {
		f.cfg.Denied(v.Caller, v.Endpoint, 1, d)
	}
}

// settle corrects headers that tell of the gate's denial. What is left of a budget that
// is asked for elsewhere is not told.
func settle(h http.Header, d *tickgate.Decision) {
	for _, name := range [...]string{"Ratelimit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Retry-After"} {
		delete(h, name)
	}
	if d.Allowed {
		delete(h, "Cache-Control")
	} else if retry := seconds(d.RetryAfter); retry > 0 {
		h["Retry-After"] = []string{strconv.FormatInt(retry, 10)}
	}
}

// seconds are those of the header Retry-After: rounded up, and 0 for none.
func seconds(d time.Duration) int64 {
	if d == tickgate.Never {
		return 0
	}
	return max(1, int64((d+time.Second-1)/time.Second))
}
