package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Measures of a plot, in units of its own that are about a pixel on a telephone.
// Each bar has its name above it, so that a narrow plot holds long names.
const (
	plotWidth = 400.0
	rowHeight = 34.0
	barTop    = 18.0 // from the top of its row
	barHeight = 10.0
	axisSpace = 22.0 // below the last row
)

// section is some plots under one heading.
type section struct {
	Title, Text string
	Plots       []*plot
}

// Legend are the kinds of bars that need to be told apart.
func (s section) Legend() []kind {
	seen := map[string]bool{}
	for _, p := range s.Plots {
		for _, b := range p.Bars {
			seen[b.Kind] = true
		}
	}
	var shown []kind
	for _, k := range []kind{{"ours", "tickgate"}, {"peer", "peer"}, {"floor", "floor"}} {
		if seen[k.Class] {
			shown = append(shown, k)
		}
	}
	if len(shown) < 2 {
		return nil
	}
	return shown
}

// kind is a class of bars, and what it is called.
type kind struct {
	Class, Name string
}

// plot is a list of bars, which is shown as a picture and as a table.
type plot struct {
	Title  string
	Unit   string // of the values
	Bars   []bar
	Ticks  []placed
	Marker *placed // a bound, across all bars
	Height float64
	Log    bool
}

// bar is one value. Its kind is floor, ours, peer, pass or miss, and a class of
// the page's style.
type bar struct {
	Name, Kind string
	Value      float64
	Text       string // the value with its unit

	Y, BarY, Width float64
}

// placed is a label at a place along the plot.
type placed struct {
	X     float64
	Label string
	Side  string // what lies at X: start, middle or end of the label
}

// order sorts the bars by value and leaves those of the floor at the top.
func (p *plot) order() {
	below := func(b bar) int { // those of the floor are above all others
		if b.Kind == "floor" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(p.Bars, func(a, b bar) int {
		return cmp.Or(cmp.Compare(below(a), below(b)), cmp.Compare(a.Value, b.Value))
	})
}

// lay places everything. With a bound the plot is linear and reaches it.
func (p *plot) lay(bound float64) *plot {
	var values []float64
	for _, b := range p.Bars {
		values = append(values, b.Value)
	}
	s := scaleOf(values)
	if bound > 0 {
		s = scale{hi: roundUp(max(bound, slices.Max(values)))}
		p.Marker = &placed{X: plotWidth * s.at(bound)}
	}
	p.Log = s.log
	for i := range p.Bars {
		b := &p.Bars[i]
		b.Y = float64(i) * rowHeight
		b.BarY = b.Y + barTop
		// A bar of nothing is a line, so that it can be seen to be there.
		b.Width = math.Round(10*max(1, plotWidth*s.at(b.Value))) / 10
	}
	for _, t := range s.ticks() {
		side := "middle"
		switch {
		case t.At < 0.02:
			side = "start"
		case t.At > 0.98:
			side = "end"
		}
		p.Ticks = append(p.Ticks, placed{X: math.Round(10*plotWidth*t.At) / 10, Label: t.Label, Side: side})
	}
	p.Height = float64(len(p.Bars))*rowHeight + axisSpace
	return p
}

// Width is that of every plot.
func (p *plot) Width() float64 { return plotWidth }

// BarHeight is that of every bar.
func (p *plot) BarHeight() float64 { return barHeight }

// AxisY is where the marks end and their labels begin.
func (p *plot) AxisY() float64 { return p.Height - axisSpace }

// LabelY is the line on which the labels of the marks stand.
func (p *plot) LabelY() float64 { return p.Height - 6 }

// NameY is the line on which the name of a bar stands.
func (b bar) NameY() float64 { return b.Y + 13 }

// Alt says in words what the picture shows.
func (p *plot) Alt() string {
	s := fmt.Sprintf("Bars of %s, %s", p.Title, p.Unit)
	if p.Log {
		s += ", logarithmic"
	}
	return s + ". The same figures are in the table below."
}
