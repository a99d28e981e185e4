package main

import (
	_ "embed"
	"html/template"
	"io"
	"strings"

	"github.com/tickgate/tickgate/bench/internal/table"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what the template shows.
type page struct {
	Title      string
	Summary    string
	Method     string
	Warnings   []string
	Conditions table.Conditions
	Conduct    []string
	Targets    []table.Target
	Ahead      []string
	Sections   []section
	Figures    grid
}

// grid is a table of text.
type grid struct {
	Headings []string
	Rows     [][]string
}

// writeHTML writes the report as one page that needs nothing else: no script, no
// font, no picture from elsewhere.
func writeHTML(w io.Writer, t table.Table) error {
	p := page{
		Title: title, Summary: summary(t), Method: t.Method(),
		Warnings: warnings(t.Conditions), Conditions: t.Conditions.Shown(), Conduct: table.Conduct(),
		Targets: t.Targets, Ahead: t.Ahead, Sections: sections(t),
		Figures: grid{Headings: table.Headings},
	}
	for _, r := range t.Rows {
		p.Figures.Rows = append(p.Figures.Rows, r.Cells())
	}
	return pageTemplate.Execute(w, p)
}

// Class is the verdict as a class of the page's style.
func (g grid) Class(cell string) string {
	switch {
	case cell == table.Pass, cell == table.Miss:
		return cell
	case strings.Contains(cell, "faster than"):
		return "ahead"
	}
	return ""
}
