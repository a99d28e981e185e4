package latency

import (
	"math"
	"strconv"
	"strings"
)

// The plot's own coordinates; the page stretches them to the room there is.
const (
	plotWidth, plotHeight = 1000.0, 200.0
	// leastDecades of time are drawn at least, from 1 ns up.
	leastDecades = 3
)

// plot is one path's percentiles, ready to print. To the right each step is a
// tenth of the calls before, upward each step is ten times as long.
type plot struct {
	ID, Title, Desc string
	Path, Empty     string   // SVG path data
	Grid            string   // SVG path data
	Times           []string // along the vertical axis, the longest first
	Quantiles       []string // along the horizontal axis
}

// scale is the axes that all plots of a report share, so that they compare.
type scale struct{ up, right int } // decades

func (r *Report) scale() scale {
	s := scale{up: leastDecades, right: 1}
	for i := range r.Paths {
		for _, p := range r.Paths[i].Curve {
			s.up = max(s.up, int(math.Ceil(math.Log10(float64(max(p.PathNS, p.EmptyNS, 1))))))
			s.right = max(s.right, int(math.Ceil(decades(p.Quantile)-1e-6)))
		}
	}
	return s
}

// decades is how far right a quantile lies: 0.9 at 1, 0.99 at 2.
func decades(q float64) float64 { return -math.Log10(1 - q) }

func (s scale) plot(p *Path) plot {
	out := plot{ID: p.Name, Title: p.Name, Desc: p.What + "."}
	var path, empty strings.Builder
	for i, c := range p.Curve {
		s.point(&path, i, c.Quantile, c.PathNS)
		s.point(&empty, i, c.Quantile, c.EmptyNS)
	}
	out.Path, out.Empty = path.String(), empty.String()
	for i := 0; i <= s.up; i++ {
		out.Grid += "M0 " + num(plotHeight*float64(i)/float64(s.up)) + "H" + num(plotWidth)
		out.Times = append(out.Times, timeName(s.up-i))
	}
	for i := 0; i <= s.right; i++ {
		out.Quantiles = append(out.Quantiles, quantileName(i))
	}
	return out
}

// point draws on to a point; times below 1 ns lie on the ground.
func (s scale) point(b *strings.Builder, i int, q float64, ns int64) {
	letter := "L"
	if i == 0 {
		letter = "M"
	}
	x := plotWidth * decades(q) / float64(s.right)
	y := plotHeight * (1 - math.Log10(float64(max(1, ns)))/float64(s.up))
	b.WriteString(letter + num(x) + " " + num(y))
}

func num(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(math.Abs(f), 'f', 1, 64), ".0")
}

// timeName names 10^i ns.
func timeName(i int) string {
	unit := [...]string{"ns", "µs", "ms", "s"}[min(i/3, 3)]
	return strconv.Itoa(int(math.Pow10(i-3*min(i/3, 3)))) + " " + unit
}

// quantileName names the quantile i decades to the right.
func quantileName(i int) string {
	switch i {
	case 0:
		return "least"
	case 1, 2:
		return "p" + strings.Repeat("9", i) + strings.Repeat("0", max(0, 2-i))
	}
	return "p99." + strings.Repeat("9", i-2)
}
