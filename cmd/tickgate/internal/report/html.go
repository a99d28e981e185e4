package report

import (
	_ "embed"
	"html/template"
	"io"
	"strings"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/numeral"
)

// htmlCharts bounds the endpoints that get a plot of their own: those with the
// most denials.
const htmlCharts = 24

//go:embed page.html
var pageText string

// page is what the template prints. Every text reaches it as plain data and is
// escaped there.
type page struct {
	Span      string
	Requests  string
	Summary   []fact
	Inputs    []string
	Venue     []string
	Policies  []Policy
	Note      string
	Head      []string
	Endpoints [][]string
	Total     []string
	Charts    []chart
	NoChart   string
	Worst     []worst
}

type fact struct{ Name, Value string }

type worst struct {
	Name string
	Keys []worstKey
}

type worstKey struct{ Key, Denied, Share, Requests string }

// WriteHTML writes the report as one page that needs nothing else: no script,
// no image and no font is fetched.
func WriteHTML(w io.Writer, r *Report) error {
	t, err := template.New("page").Funcs(template.FuncMap{"join": strings.Join}).Parse(pageText)
	if err != nil {
		return err
	}
	return t.Execute(w, r.page())
}

func (r *Report) page() page {
	p := page{
		Span:     r.span(),
		Requests: numeral.Plural(r.Total.Requests, "request"),
		Summary: []fact{
			{"requests", numeral.Comma(r.Total.Requests)},
			{"allowed", numeral.Comma(r.Total.Allowed)},
			{"denied", numeral.Comma(r.Total.Denied)},
			{"deny rate", percent(r.Total.DenyRate)},
			{"peak in one second", numeral.Comma(r.Total.Peak)},
			{"longest run of denials", numeral.Comma(r.Total.LongestRun.Length)},
		},
		Policies: r.Policies,
		Head:     []string{"Endpoint", "Requests", "Allowed", "Denied", "Deny rate", "Peak in 1 s", "Longest run of denials"},
		Total:    r.Total.cells("total"),
	}
	for i := range r.Inputs {
		p.Inputs = append(p.Inputs, r.Inputs[i].describe())
	}
	if r.Venue != nil {
		p.Venue = r.Venue.lines()
	}
	if n := r.Gate.ForcedEvictions; n > 0 {
		p.Note = numeral.Plural(n, "key") + " were dropped before they had recovered: the table of " + numeral.Comma(r.Gate.MaxKeys) + " keys is too small for this input."
	}
	a := r.axis()
	p.Charts = append(p.Charts, a.chart("total", "All endpoints", &r.Total))
	p.worst("all endpoints", &r.Total)
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		p.Endpoints = append(p.Endpoints, e.cells(e.Endpoint))
		if i < htmlCharts {
			p.Charts = append(p.Charts, a.chart("endpoint-"+num(float64(i+1)), e.Endpoint, e))
			p.worst(e.Endpoint, e)
		}
	}
	if more := len(r.Endpoints) - htmlCharts; more > 0 {
		p.NoChart = numeral.Plural(int64(more), "endpoint") + " with fewer denials have no plot of their own; the table below lists them."
	}
	return p
}

func (p *page) worst(name string, row *Row) {
	if len(row.WorstKeys) == 0 {
		return
	}
	w := worst{Name: name}
	for _, k := range row.WorstKeys {
		w.Keys = append(w.Keys, worstKey{k.Key, numeral.Comma(k.Denied), percent(k.Share), numeral.Comma(k.Requests)})
	}
	p.Worst = append(p.Worst, w)
}
