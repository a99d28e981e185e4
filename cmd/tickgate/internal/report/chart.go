package report

import (
	"strconv"
	"strings"
	"time"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/numeral"
)

const (
	// The plot's own coordinates. The page stretches them to the room there
	// is, so they only set the precision.
	chartWidth, chartHeight = 1000.0, 200.0
	// sliver is the least height of a denied mark: one denial in a thousand
	// requests must still be seen.
	sliver = 3.0
	// chartRows bounds the table under a plot and its pointer hints, which
	// gather neighbouring bins.
	chartRows = 48
	// chartTicks is how many times are named along the axis.
	chartTicks = 5
)

// chart is one plot of admitted and denied requests over time, ready to print.
type chart struct {
	ID       string
	Title    string
	Desc     string // what a reader who cannot see the plot needs
	Step     string // what one step of the plot spans, after "per"
	Admitted string // SVG path data
	Denied   string
	Top, Mid string // values on the vertical axis
	Ticks    []string
	Rows     []chartRow
	HasTable bool
}

// chartRow is one line of the table under a plot, and the area of its hint.
type chartRow struct {
	From, To         string
	Admitted, Denied string
	X, Width         string
}

// axis is the stretch of time every plot of a report shares.
type axis struct {
	width int64 // ns of one step
	lo    int64 // index of the first step
	n     int64 // steps
	dated bool
}

func (r *Report) axis() axis {
	a := axis{width: r.Total.width, n: 1, dated: r.dated()}
	if s := r.Total.series; len(s) > 0 {
		a.lo = floorDiv(s[0].start, a.width)
		a.n = floorDiv(s[len(s)-1].start, a.width) - a.lo + 1
	}
	return a
}

// chart plots one row on the axis. An endpoint's bins may be finer than the
// total's, never wider, so they add up to the axis's steps.
func (a axis) chart(id, title string, row *Row) chart {
	counts := map[int64]*bin{}
	for i := range row.series {
		counts[int64(i)] = &row.series[i]
	}
	steps := bins{counts: merge(counts, a.width)}
	series := steps.sorted()
	most := int64(1)
	for _, s := range series {
		most = max(most, s.allowed+s.denied)
	}
	top := niceTop(most)
	c := chart{
		ID: id, Title: title, Step: strings.TrimPrefix(spanName(a.width), "1 "),
		Top: numeral.Comma(top), Mid: numeral.Comma(top / 2),
		Desc: numeral.Plural(row.Allowed, "request") + " admitted and " + numeral.Comma(row.Denied) + " denied; at most " + numeral.Comma(most) + " in any step of " + spanName(a.width) + ".",
	}
	c.Admitted, c.Denied = a.paths(series, float64(top))
	for i := int64(0); i < chartTicks; i++ {
		c.Ticks = append(c.Ticks, a.label(a.lo*a.width+int64(float64(i)/(chartTicks-1)*float64(a.n*a.width))))
	}
	c.Rows = a.rows(series)
	c.HasTable = len(c.Rows) > 0
	return c
}

// paths draws the steps: admitted from the ground up, denied on top of it.
func (a axis) paths(series []bin, top float64) (admitted, denied string) {
	var up, over strings.Builder
	scale := chartHeight / top
	for _, s := range series {
		i := floorDiv(s.start, a.width) - a.lo
		x0, x1 := a.x(i), a.x(i+1)
		y := chartHeight - float64(s.allowed)*scale
		if s.allowed > 0 {
			box(&up, x0, x1, chartHeight, y)
		}
		if s.denied > 0 {
			box(&over, x0, x1, y, max(0, y-max(sliver, float64(s.denied)*scale)))
		}
	}
	return up.String(), over.String()
}

func (a axis) x(i int64) float64 { return chartWidth * float64(i) / float64(a.n) }

func box(b *strings.Builder, x0, x1, y0, y1 float64) {
	b.WriteString("M" + num(x0) + " " + num(y0) + "V" + num(y1) + "H" + num(x1) + "V" + num(y0) + "Z")
}

func num(f float64) string {
	s := strconv.FormatFloat(f, 'f', 1, 64)
	return strings.TrimSuffix(s, ".0")
}

// rows gathers neighbouring steps into at most chartRows lines; empty ones are
// left out.
func (a axis) rows(series []bin) []chartRow {
	per := (a.n + chartRows - 1) / chartRows
	var out []chartRow
	for i := 0; i < len(series); {
		group := (floorDiv(series[i].start, a.width) - a.lo) / per
		var allowed, denied int64
		for ; i < len(series) && (floorDiv(series[i].start, a.width)-a.lo)/per == group; i++ {
			allowed += series[i].allowed
			denied += series[i].denied
		}
		first, end := group*per, min((group+1)*per, a.n)
		out = append(out, chartRow{
			From: a.label((a.lo + first) * a.width), To: a.label((a.lo + end) * a.width),
			Admitted: numeral.Comma(allowed), Denied: numeral.Comma(denied),
			X: num(a.x(first)), Width: num(a.x(end) - a.x(first)),
		})
	}
	return out
}

// label prints a time on the axis, as short as the axis's length allows.
func (a axis) label(ns int64) string {
	decimals := 0
	for w := a.width; w < second && decimals < 9; w *= 10 {
		decimals++
	}
	s := stamp(ns, a.dated, decimals)
	if !a.dated {
		return s
	}
	switch length := a.n * a.width; {
	case length <= 24*int64(time.Hour):
		return s[len(time.DateOnly)+1:]
	case a.width >= 60*second:
		return s[:len("2006-01-02 15:04")]
	}
	return s
}

// niceTop returns a round number not below n and not far above it, even, so
// that its half is whole.
func niceTop(n int64) int64 {
	for _, m := range [...]int64{2, 4, 6, 8, 10} {
		if m >= n {
			return m
		}
	}
	for p := int64(1); ; p *= 10 {
		for _, m := range [...]int64{12, 16, 20, 30, 40, 50, 60, 80, 100} {
			if m*p >= n {
				return m * p
			}
		}
	}
}

// spanName prints a bin's width in words.
func spanName(ns int64) string {
	for _, u := range [...]struct {
		ns   int64
		name string
	}{
		{24 * int64(time.Hour), "day"}, {int64(time.Hour), "hour"}, {60 * second, "minute"}, {second, "second"},
		{1e6, "millisecond"}, {1e3, "microsecond"},
	} {
		if ns >= u.ns {
			return numeral.Plural(ns/u.ns, u.name)
		}
	}
	return numeral.Plural(ns, "nanosecond")
}
