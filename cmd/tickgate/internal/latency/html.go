package latency

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

// page is what the template prints. Every text reaches it as plain data and is
// escaped there.
type page struct {
	Facts   []fact
	Head    []string
	Paths   []pagePath
	Targets []Target
	Notes   []string
	Legend  []string
	Plots   []plot
}

type pagePath struct {
	What string
	Rows [][]string
}

// WriteHTML writes the report as one page that needs nothing else: no script, no
// image and no font is fetched.
func WriteHTML(w io.Writer, r *Report) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	p := page{
		Facts: r.facts(), Targets: r.Targets, Notes: r.Notes, Legend: legend,
		Head: append(append([]string{"Path", "Calls"}, names[:]...), "max"),
	}
	axes := r.scale()
	for i := range r.Paths {
		path := &r.Paths[i]
		p.Paths = append(p.Paths, pagePath{path.What, path.rows()})
		if len(path.Curve) > 0 {
			p.Plots = append(p.Plots, axes.plot(path))
		}
	}
	return t.Execute(w, p)
}
