package report

import (
	"cmp"
	"math"
	"slices"
)

// Collector gathers outcomes. Not safe for concurrent use.
type Collector struct {
	top       int
	first     int64
	last      int64
	total     *tally
	endpoints map[string]*tally
}

// tally is what is counted per endpoint and in total.
type tally struct {
	allowed, denied int64
	peak            peak
	bins            bins
	run             Run
	reasons         map[string]int64
	keys            map[string]*keyTally
}

type keyTally struct {
	requests, denied int64
	run              int64 // length of the current run of denials
	runNS            int64 // time of its first denial
}

// NewCollector returns a Collector that lists at most top worst keys per row.
func NewCollector(top int) *Collector {
	return &Collector{top: top, total: newTally(), endpoints: map[string]*tally{}}
}

func newTally() *tally {
	return &tally{reasons: map[string]int64{}, keys: map[string]*keyTally{}}
}

// Add counts one outcome. Outcomes are added in the order they were decided.
func (c *Collector) Add(o Outcome) {
	if c.total.allowed+c.total.denied == 0 {
		c.first, c.last = o.At, o.At
	}
	c.first, c.last = min(c.first, o.At), max(c.last, o.At)
	t := c.endpoints[o.Endpoint]
	if t == nil {
		t = newTally()
		c.endpoints[o.Endpoint] = t
	}
	k := t.add(&o)
	c.total.add(&o)
	if k.run > t.run.Length {
		t.run = Run{Length: k.run, Key: o.Key, Endpoint: o.Endpoint, FirstNS: k.runNS}
	}
	// The total's run is that of one key on one endpoint too: what the other
	// endpoints of a key let through does not break it.
	if k.run > c.total.run.Length {
		c.total.run = t.run
	}
}

func (t *tally) add(o *Outcome) *keyTally {
	k := t.keys[o.Key]
	if k == nil {
		k = &keyTally{}
		t.keys[o.Key] = k
	}
	k.requests++
	if o.Allowed {
		t.allowed++
		k.run = 0
	} else {
		t.denied++
		t.reasons[o.Reason]++
		k.denied++
		if k.run++; k.run == 1 {
			k.runNS = o.At
		}
	}
	t.peak.add(o.At)
	t.bins.add(o.At, o.Allowed)
	return k
}

// Requests returns how many outcomes were added.
func (c *Collector) Requests() int64 { return c.total.allowed + c.total.denied }

// Report returns what was gathered. Inputs, policies and the gate's part are
// the caller's to fill in.
func (c *Collector) Report() Report {
	r := Report{
		Inputs: []Input{}, Policies: []Policy{}, Endpoints: []Row{},
		FirstNS: c.first, LastNS: c.last, Total: c.total.row("", c.top),
	}
	for name, t := range c.endpoints {
		r.Endpoints = append(r.Endpoints, t.row(name, c.top))
	}
	slices.SortFunc(r.Endpoints, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Denied, a.Denied), cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return r
}

func (t *tally) row(name string, top int) Row {
	r := Row{
		Endpoint: name,
		Requests: t.allowed + t.denied,
		Allowed:  t.allowed, Denied: t.denied,
		DenyRate:   ratio(t.denied, t.allowed+t.denied),
		LongestRun: t.run,
		WorstKeys:  []KeyShare{},
		Reasons:    t.reasons,
		series:     t.bins.sorted(),
		width:      t.bins.width(),
	}
	r.Peak, r.PeakNS = t.peak.result()
	for key, k := range t.keys {
		if k.denied > 0 {
			r.WorstKeys = append(r.WorstKeys, KeyShare{Key: key, Requests: k.requests, Denied: k.denied, Share: ratio(k.denied, t.denied)})
		}
	}
	slices.SortFunc(r.WorstKeys, func(a, b KeyShare) int {
		return cmp.Or(cmp.Compare(b.Denied, a.Denied), cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Key, b.Key))
	})
	r.WorstKeys = slices.Clip(r.WorstKeys[:min(top, len(r.WorstKeys))])
	return r
}

// ratio returns a/b to six decimals, 0 for b = 0.
func ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return math.Round(float64(a)/float64(b)*1e6) / 1e6
}
