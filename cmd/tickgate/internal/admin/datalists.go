package admin

import (
	"time"

	"github.com/tickgate/tickgate/adapter/promlimit"
)

type topView struct {
	Since int64     `json:"since"` // 0: nothing was denied
	Keys  []keyView `json:"keys"`
}

type keyView struct {
	Key      string `json:"key"`
	Denied   uint64 `json:"denied"`
	AtLeast  uint64 `json:"at_least"`
	Endpoint string `json:"endpoint"`
	Last     int64  `json:"last"`
}

type rejectsView struct {
	Total uint64       `json:"total"`
	Last  []rejectView `json:"last"`
}

type rejectView struct {
	At         int64   `json:"at"`
	Key        string  `json:"key"`
	Endpoint   string  `json:"endpoint"`
	Limit      string  `json:"limit"`
	Reason     string  `json:"reason"`
	Cost       int64   `json:"cost"`
	RetryAfter float64 `json:"retry_after"`
	Version    string  `json:"version"`
}

type changeView struct {
	At       int64    `json:"at"`
	What     string   `json:"what"`
	Who      string   `json:"who"`
	Key      string   `json:"key"`
	Everyone bool     `json:"everyone"`
	Lines    []string `json:"lines"`
	More     int      `json:"more"`
	Fault    string   `json:"fault"`
}

type clockView struct {
	Name      string  `json:"name"`
	Reason    string  `json:"reason"`
	Frequency float64 `json:"hz"`
	DriftPPM  float64 `json:"drift_ppm"`
	DriftOver float64 `json:"drift_over"` // 0: not known yet
	Jumps     uint64  `json:"jumps"`
}

type syncView struct {
	Nodes      int     `json:"nodes"`
	Away       bool    `json:"away"`
	ViewAge    float64 `json:"view_age"`
	FuseOpened uint64  `json:"fuse_opened"`
	Overshoot  int64   `json:"overshoot"`
	CreditUsed float64 `json:"credit_used"`
	Median     float64 `json:"median"`
	P99        float64 `json:"p99"`
	OldestWait float64 `json:"oldest_wait"`
	Sent       uint64  `json:"sent"`
	Acked      uint64  `json:"acked"`
	Unknown    uint64  `json:"unknown"`
	Failed     uint64  `json:"failed"`
	Lost       uint64  `json:"lost"`
	Granted    uint64  `json:"granted"`
}

type sourceView struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Policies    int    `json:"policies"`
	Connection  string `json:"connection"`
	Applied     uint64 `json:"applied"`
	Refused     uint64 `json:"refused"`
	LastSuccess int64  `json:"last_success"` // 0: never
	LastError   string `json:"last_error"`
}

// maxFault is how much of a fault is shown, in bytes: a set may have a thousand.
const maxFault = 2000

// milli returns a time in ms, 0 for none.
func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func (a *admin) top() topView {
	keys, since := a.cfg.Denials.Top(showTop, a.cfg.Now())
	out := topView{milli(since), make([]keyView, 0, len(keys))}
	for _, k := range keys {
		out.Keys = append(out.Keys, keyView{k.Key, k.Denied, k.AtLeast, a.label(k.Gate, k.Endpoint), k.Last.UnixMilli()})
	}
	return out
}

func (a *admin) rejects() rejectsView {
	last := a.cfg.Denials.Recent(showRejects)
	out := rejectsView{a.cfg.Denials.Total(), make([]rejectView, 0, len(last))}
	for i := range last {
		r := &last[i]
		out.Last = append(out.Last, rejectView{
			r.At.UnixMilli(), r.Key, a.label(r.Gate, r.Endpoint), r.Limit, r.Reason.String(), r.Cost, seconds(r.RetryAfter), r.Version,
		})
	}
	return out
}

func (a *admin) changes() []changeView {
	last := a.cfg.Changes.Recent(showChanges)
	out := make([]changeView, 0, len(last))
	for i := range last {
		c := &last[i]
		v := changeView{c.At.UnixMilli(), c.What, c.Who, c.Key, c.Everyone, c.Lines, c.More, c.Fault}
		if gate := a.label(c.Gate, ""); gate != "" {
			v.Lines = append([]string{"gate " + c.Gate}, v.Lines...)
			if v.Fault != "" {
				v.Fault = gate + v.Fault
			}
		}
		out = append(out, v)
	}
	return out
}

func (a *admin) clock() clockView {
	c := a.cfg.Clock()
	return clockView{c.Name, c.Reason, c.Frequency, c.DriftPPM, c.DriftOver.Seconds(), c.Jumps}
}

func (a *admin) sync() *syncView {
	if a.cfg.Sync == nil {
		return nil
	}
	return newSyncView(a.cfg.Sync())
}

func newSyncView(s promlimit.Sync) *syncView {
	return &syncView{
		s.Nodes, s.Away, s.ViewAge.Seconds(), s.FuseOpened, s.Overshoot, s.CreditUsed,
		s.SyncMedian.Seconds(), s.SyncP99.Seconds(), s.OldestWait.Seconds(),
		s.Sent, s.Acked, s.Unknown, s.Failed, s.Lost, s.Granted,
	}
}

func (a *admin) sources() []sourceView {
	if a.cfg.Sources == nil {
		return nil
	}
	out := []sourceView{}
	for _, s := range a.cfg.Sources() {
		fault := ""
		if s.LastError != nil {
			fault = s.LastError.Error()
			fault = fault[:min(len(fault), maxFault)]
		}
		out = append(out, sourceView{s.Name, s.Version, s.Policies, s.Connection, s.Applied, s.Refused, milli(s.LastSuccess), fault})
	}
	return out
}
