package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// target is the least that a server may do, as a part of what another does in the same
// round.
type target struct {
	kind, of string
	least    float64 // 0: none, the figure is for information
	why      string
}

var targets = []target{
	{"allow", "bare", 0.95, "the limiter, and two more fields to send, before a handler that does nothing"},
	{plain, "bare", 0.95, "the limiter with no fields, before a handler that does nothing"},
	{"list-allow", "list", 0.95, "the limiter and its fields, before a handler that answers ten results"},
	{"list-deny", "list", 1, "a denial beside the work that it spares"},
	{"allow", "allow-canned", 0.95, "the limiter alone"},
	{"deny", "allow", 1, "a denial beside what passes: it is longer"},
	{"deny", "deny-canned", 0.95, "the limiter and the writing of the problem, the longer answer left out"},
	{"deny", "bare", 0, "all of it"},
	{take, takeBare, 0.9, "the check API beside a handler that decides nothing, on a server without time-outs"},
	{take, takeTimed, 0.9, "the same beside that handler on a server with time-outs, as every service should have"},
	{takeMany, take, 20. / batch, "64 keys a request: a third of the requests is 20 times the decisions"},
}

// write prints the table, what was sent, and the targets. It returns how many targets
// were missed.
func write(w io.Writer, all []series) (missed int) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "server\trequests/s\tx bare\tp50\tp99\tserver cpu/request\tbytes/answer\tMB/s\t")
	for i := range all {
		s := &all[i]
		r, _, _ := ratio(s, &all[0])
		fmt.Fprintf(t, "%s\t%.0f\t%.3f\t%s\t%s\t%.1fµs\t%.0f\t%.1f\t\n", s.kind,
			s.median((*sample).perSecond), r, s.time(func(x *sample) time.Duration { return x.p50 }),
			s.time(func(x *sample) time.Duration { return x.p99 }),
			s.median(func(x *sample) float64 { return float64(x.cpu.Nanoseconds()) / 1e3 / float64(x.requests) }),
			s.median(func(x *sample) float64 { return float64(x.bytes) / float64(x.requests) }),
			s.median(func(x *sample) float64 { return float64(x.bytes) / 1e6 / x.took.Seconds() }))
	}
	_ = t.Flush()
	fmt.Fprintln(w, "\nWhat is sent:")
	for _, s := range all {
		fmt.Fprintf(w, "  %-13s %s\n", s.kind, s.sent)
	}
	fmt.Fprintln(w, "\nTargets, of requests/s; the median of the rounds, least and most in parentheses:")
	for _, g := range targets {
		a, b := find(all, g.kind), find(all, g.of)
		if a == nil && b == nil {
			continue // of another comparison
		}
		if a == nil || b == nil {
			fmt.Fprintf(w, "  %s/%s  not measured\n", g.kind, g.of)
			continue
		}
		mid, least, most := ratio(a, b)
		verdict := fmt.Sprintf("at least %.2f: met", g.least)
		switch {
		case g.least == 0:
			verdict = "no target"
		case mid < g.least:
			verdict = fmt.Sprintf("at least %.2f: missed", g.least)
			missed++
		}
		fmt.Fprintf(w, "  %-18s  %.3f (%.3f-%.3f)  %-21s  %s\n", g.kind+"/"+g.of, mid, least, most, verdict, g.why)
	}
	if by := spread(&all[0]); by > 0.1 {
		fmt.Fprintf(w, "\nbare itself varied by %.0f %% between rounds: something else was at work, differences below that mean little\n", 100*by)
	}
	return missed
}

// spread is how far the slowest and the fastest round of a server are apart, as a part
// of the median.
func spread(s *series) float64 {
	all := make([]float64, len(s.samples))
	for i := range all {
		all[i] = s.samples[i].perSecond()
	}
	return (slices.Max(all) - slices.Min(all)) / median(all)
}

// ratio compares two servers within each round, where the machine was most alike.
func ratio(a, b *series) (mid, least, most float64) {
	all := make([]float64, len(a.samples))
	for i := range all {
		all[i] = a.samples[i].perSecond() / b.samples[i].perSecond()
	}
	return median(all), slices.Min(all), slices.Max(all)
}

func find(all []series, kind string) *series {
	for i := range all {
		if all[i].kind == kind {
			return &all[i]
		}
	}
	return nil
}

// median is that of a figure of the samples.
func (s *series) median(of func(*sample) float64) float64 {
	v := make([]float64, len(s.samples))
	for i := range v {
		v[i] = of(&s.samples[i])
	}
	return median(v)
}

func (s *series) time(of func(*sample) time.Duration) time.Duration {
	d := s.median(func(x *sample) float64 { return float64(of(x)) })
	return time.Duration(d).Round(10 * time.Microsecond)
}

// median sorts v, which is not empty. Of an even number it is the mean of the two in
// the middle.
func median(v []float64) float64 {
	slices.Sort(v)
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
