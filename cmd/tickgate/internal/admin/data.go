package admin

import (
	"math"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

// What of each list is sent at most. The page says what is left out.
const (
	showPolicies = 200
	showTop      = 20
	showRejects  = 50
	showChanges  = 20
)

// data answers what the page shows, with the points of the plot after since, in ms of
// Unix time:
//
//	GET /debug/tickgate/data?since=1767225600000
//
// The object is the page's own and changes with it. It costs some 100 µs, and now and
// then a look at all keys.
func (a *admin) data(w http.ResponseWriter, r *http.Request) {
	since := time.Time{}
	if text := r.URL.Query().Get("since"); text != "" {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			malformed(w, r, "The parameter since must be a time in milliseconds since 1970.")
			return
		}
		since = time.UnixMilli(ms)
	}
	write(w, http.StatusOK, a.view(since))
}

// view is all that the page shows. Times are ms of Unix time, durations seconds, and -1
// is never.
type view struct {
	At            int64        `json:"at"`
	Process       process      `json:"process"`
	NotReady      []Reason     `json:"not_ready"`
	PolicyVersion string       `json:"policy_version"`
	KeysShown     bool         `json:"keys_shown"`
	Gate          gateView     `json:"gate"`
	Points        [][4]float64 `json:"points"` // at, allowed, denied, shadowed
	Latency       *latencyView `json:"latency,omitempty"`
	Policies      []policyView `json:"policies"`
	MorePolicies  int          `json:"more_policies"`
	Look          lookView     `json:"look"`
	Top           topView      `json:"top"`
	Rejects       rejectsView  `json:"rejects"`
	Changes       []changeView `json:"changes"`
	Clock         clockView    `json:"clock"`
	Table         *Table       `json:"table,omitempty"`
	Pages         *Pages       `json:"pages,omitempty"`
	Sync          *syncView    `json:"sync,omitempty"`
	Sources       []sourceView `json:"sources,omitempty"`
}

type process struct {
	Started    int64  `json:"started"`
	Version    string `json:"version"`
	Go         string `json:"go"`
	Procs      int    `json:"procs"`
	Goroutines uint64 `json:"goroutines"`
	Heap       uint64 `json:"heap_bytes"`
}

type gateView struct {
	HitRate     float64 `json:"hit_rate"`
	Decided     uint64  `json:"decided"`
	Keys        int     `json:"keys"`
	Capacity    int     `json:"capacity"`
	Idle        uint64  `json:"evicted_idle"`
	Forced      uint64  `json:"evicted_forced"`
	NoPolicy    uint64  `json:"no_policy"`
	BadRequests uint64  `json:"bad_requests"`
}

type latencyView struct {
	Samples   uint64     `json:"samples"`
	Quantiles [4]float64 `json:"quantiles"` // 50, 90, 99 and 99.9 %
}

type policyView struct {
	Endpoint string      `json:"endpoint"`
	Shadow   bool        `json:"shadow"`
	Allowed  uint64      `json:"allowed"`
	Denied   uint64      `json:"denied"`
	Barred   uint64      `json:"barred"`
	Shadowed uint64      `json:"shadowed"`
	Limits   []limitView `json:"limits"`
}

type limitView struct {
	Text    string  `json:"text"`
	Keys    int     `json:"keys"`
	Used    int     `json:"used_up"`
	Fullest float64 `json:"fullest"`
	Mean    float64 `json:"mean"`
}

type lookView struct {
	At      int64 `json:"at"`
	Keys    int   `json:"keys"`
	Partial bool  `json:"partial"`
	Blocked int   `json:"blocked"`
	Banned  int   `json:"banned"`
}

// view collects what the page shows.
func (a *admin) view(since time.Time) *view {
	use := a.use.look()
	each, all := make([]tickgate.Stats, len(a.gates)), []policyView{}
	more := 0
	for i := range a.gates {
		g := &a.gates[i]
		each[i] = g.own.Stats()
		set := g.own.Policies()
		rows := policies(&each[i], set, use, i, showPolicies-len(all))
		more += len(set) - len(rows)
		for _, row := range rows {
			row.Endpoint = a.label(g.name, row.Endpoint)
			all = append(all, row)
		}
	}
	stats := total(each)
	v := &view{
		At:            a.cfg.Now().UnixMilli(),
		Process:       a.process(),
		NotReady:      a.cfg.Ready.Reasons(),
		PolicyVersion: a.cfg.PolicyVersion(),
		KeysShown:     a.cfg.Denials.Shown(),
		Gate: gateView{
			stats.HitRate, stats.Hits + stats.Misses, stats.Size, stats.Capacity,
			stats.Evictions.Idle, stats.Evictions.Forced, stats.NoPolicy, stats.BadRequests,
		},
		Points:   [][4]float64{},
		Latency:  a.quantiles(),
		Policies: all,
		Look:     lookView{use.at.UnixMilli(), use.keys, use.partial, use.blocked, use.banned},
		Top:      a.top(),
		Rejects:  a.rejects(),
		Changes:  a.changes(),
		Clock:    a.clock(),
		Sync:     a.sync(),
		Sources:  a.sources(),
	}
	v.MorePolicies = more
	for _, p := range a.cfg.History.Since(since) {
		v.Points = append(v.Points, [4]float64{float64(p.At.UnixMilli()), tenth(p.Allowed), tenth(p.Denied), tenth(p.Shadowed)})
	}
	if a.cfg.Table != nil {
		t := a.cfg.Table()
		v.Table = &t
	}
	if a.cfg.Pages != nil {
		p := a.cfg.Pages()
		v.Pages = &p
	}
	return v
}

func tenth(x float64) float64 { return math.Round(10*x) / 10 }

// process reads what Go tells of itself, without stopping anything.
func (a *admin) process() process {
	read := []metrics.Sample{{Name: "/sched/goroutines:goroutines"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(read)
	return process{
		Started: a.begun.UnixMilli(), Version: a.cfg.Version,
		Go:    runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		Procs: runtime.GOMAXPROCS(0), Goroutines: read[0].Value.Uint64(), Heap: read[1].Value.Uint64(),
	}
}

func (a *admin) quantiles() *latencyView {
	if a.latency == nil {
		return nil
	}
	h := a.latency.read()
	if h.GetSampleCount() == 0 {
		return &latencyView{}
	}
	return &latencyView{h.GetSampleCount(), [4]float64(quantiles(h, .5, .9, .99, .999))}
}

// policies joins what the policies of a gate decided, what they say, and what keys have
// used of them, at most so many. Stats and the set may be read on two sides of a change: what is not in both is left
// out until the next time.
func policies(stats *tickgate.Stats, set policy.Set, use *look, gate, most int) []policyView {
	counts := make(map[string]tickgate.PolicyStats, len(stats.Policies))
	for _, p := range stats.Policies {
		counts[p.Endpoint] = p
	}
	out := make([]policyView, 0, min(len(set), most))
	for _, p := range set {
		if len(out) == most {
			break
		}
		c := counts[p.Endpoint]
		row := policyView{p.Endpoint, p.Shadow, c.Allowed, c.Denied, c.Barred, c.Shadowed, make([]limitView, 0, len(p.Limits))}
		for _, l := range p.Limits {
			text := limitView{Text: l.String()}
			if u := use.limits[limitOf{gate, p.Endpoint, l.Label()}]; u != nil {
				text.Keys, text.Used, text.Fullest, text.Mean = u.keys, u.used, u.fullest, u.sum/float64(u.keys)
			}
			row.Limits = append(row.Limits, text)
		}
		out = append(out, row)
	}
	return out
}
