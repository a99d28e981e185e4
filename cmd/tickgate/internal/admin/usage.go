package admin

import (
	"errors"
	"net/http"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/httplimit"
)

var errRequest = errors.New("admin: the request is malformed")

// quota is a tickgate.Quota for programs.
type quota struct {
	Gate      string       `json:"gate"`
	Endpoint  string       `json:"endpoint"`
	Policy    string       `json:"policy"`
	Blocked   bool         `json:"blocked"`
	BannedFor float64      `json:"banned_for_seconds"`
	Limits    []limitQuota `json:"limits"`
}

type limitQuota struct {
	Limit      string  `json:"limit"`
	Capacity   int64   `json:"capacity"`
	Used       int64   `json:"used"`
	Remaining  int64   `json:"remaining"`
	ResetAfter float64 `json:"reset_after_seconds"`
}

// usage answers what a caller has used, in all gates of the process:
//
//	GET /v1/usage?apikey=KEY
//	{"apikey":"KEY","key":"5f0c…","gates":[{"gate":"main","key":"5f0c…"}],
//	 "quotas":[{"gate":"main","endpoint":"orders","policy":"orders",
//	 "blocked":false,"banned_for_seconds":0,"limits":[{"limit":"hour","capacity":100,
//	 "used":40,"remaining":60,"reset_after_seconds":1440}]}],"elsewhere":["paid"]}
//
// key is what the page calls the caller. An endpoint at which all is there may be
// missing. What is used of the policies in elsewhere, Redis knows, and it is not asked;
// the member is left out where there is none.
func (a *admin) usage(w http.ResponseWriter, r *http.Request) {
	given := r.URL.Query()["apikey"]
	if len(given) != 1 || given[0] == "" {
		malformed(w, r, "The query must have one apikey: /v1/usage?apikey=KEY.")
		return
	}
	gates, quotas := make([]known, 0, len(a.gates)), []quota{}
	for i := range a.gates {
		g := &a.gates[i]
		apikey := g.apikey(given[0])
		gates = append(gates, known{g.name, a.cfg.Denials.Name(apikey)})
		for _, q := range g.own.Usage(apikey) {
			quotas = append(quotas, newQuota(g.name, &q))
		}
	}
	write(w, http.StatusOK, struct {
		APIKey    string   `json:"apikey"`
		Key       string   `json:"key"`
		Gates     []known  `json:"gates"`
		Quotas    []quota  `json:"quotas"`
		Elsewhere []string `json:"elsewhere,omitempty"`
	}{given[0], gates[0].Key, gates, quotas, a.cfg.Elsewhere})
}

func newQuota(gate string, q *tickgate.Quota) quota {
	out := quota{gate, q.Endpoint, q.Policy, q.Blocked, seconds(q.BannedFor), make([]limitQuota, 0, len(q.Limits))}
	for _, l := range q.Limits {
		out.Limits = append(out.Limits, limitQuota{l.Limit, l.Capacity, l.Used, l.Remaining, seconds(l.ResetAfter)})
	}
	return out
}

// seconds returns a duration in seconds; -1 stands for Never.
func seconds(d time.Duration) float64 {
	if d == tickgate.Never {
		return -1
	}
	return d.Seconds()
}

func malformed(w http.ResponseWriter, r *http.Request, detail string) {
	httplimit.WriteError(w, r, &httplimit.Error{Status: http.StatusBadRequest, Code: "request_invalid", Detail: detail, Err: errRequest})
}
