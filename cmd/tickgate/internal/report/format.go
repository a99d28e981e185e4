package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// year is the time below which recorded times are taken to count from the
// start of something (a midnight, a process) and not from 1970.
const year = 365 * 24 * int64(time.Hour)

// percent prints a share with two decimals; one that is not zero never as 0.00%.
func percent(f float64) string {
	switch {
	case f > 0 && f < 0.0001:
		return "<0.01%"
	case f < 1 && f > 0.9999:
		return ">99.99%"
	}
	return strconv.FormatFloat(100*f, 'f', 2, 64) + "%"
}

// stamp prints a recorded time with n decimals, as a date in UTC where the
// times carry one, else as hours, minutes and seconds from their start.
func stamp(ns int64, dated bool, decimals int) string {
	frac := ""
	if decimals > 0 {
		frac = "." + fmt.Sprintf("%09d", ns%1e9)[:decimals]
	}
	if dated {
		return time.Unix(0, ns).UTC().Format(time.DateTime) + frac
	}
	s := ns / 1e9
	return fmt.Sprintf("%02d:%02d:%02d%s", s/3600, s/60%60, s%60, frac)
}

// dated says whether the report's times count from 1970.
func (r *Report) dated() bool { return r.LastNS >= year }

// span says from when to when the requests were recorded.
func (r *Report) span() string {
	from, to := stamp(r.FirstNS, r.dated(), 3), stamp(r.LastNS, r.dated(), 3)
	if !r.dated() {
		return from + " to " + to
	}
	if from[:len(time.DateOnly)] == to[:len(time.DateOnly)] {
		to = to[len(time.DateOnly)+1:]
	}
	return from + " to " + to + " UTC"
}

// table prints rows in columns two spaces apart. Columns whose letter in align
// is 'r' are set to the right. The first row is the head.
func table(b *strings.Builder, align string, rows [][]string) {
	widths := make([]int, len(align))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if align[i] == 'r' {
				line += pad + cell + "  "
			} else {
				line += cell + pad + "  "
			}
		}
		b.WriteString(strings.TrimRight(line, " "))
		b.WriteByte('\n')
	}
}
