//go:build linux

// Command faults does to Redis, to its connections and to the nodes all that can
// happen to them, with real servers that it starts itself, and prints by how much the
// limit was exceeded, beside the bound.
//
//	faults -length 10s -topology alone -mode lease -row 'freeze|kill'
//
// What lasts for a part of a row grows with its length: at 13s Redis is stopped for 5 s.
//
// It ends with 1 if a bound was exceeded or anything else that must hold did not.
// Times and rates, which depend on the machine, are printed at the end and do not
// count. Ctrl-C ends it after the row that runs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"text/tabwriter"
	"time"

	"github.com/tickgate/tickgate/redisync/internal/faults"
)

func main() {
	faults.Child()
	length := flag.Duration("length", 3*time.Second, "how long each row runs, at least")
	nodes := flag.Int("nodes", 0, "only rows with so many nodes; 0: any")
	mode := flag.String("mode", "", "only rows of this mode: credit, lease or strict; empty: all")
	topology := flag.String("topology", "", "only on this: alone, masters or replicas; empty: all three")
	row := flag.String("row", "", "only rows whose name this regular expression matches")
	measures := flag.Bool("measures", true, "measure times, rates and sizes, too")
	list := flag.Bool("list", false, "print the names of the rows and end")
	verbose := flag.Bool("v", false, "print what the reconcilers counted")
	flag.Parse()
	name, err := regexp.Compile(*row)
	if err == nil && flag.NArg() > 0 {
		err = fmt.Errorf("unknown argument %q", flag.Arg(0))
	}
	if err == nil && *length <= 0 {
		err = fmt.Errorf("-length %v: must be positive, such as 5s", *length)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(2)
	}
	wanted := func(m, t, r string) bool {
		return (*mode == "" || *mode == m) && (*topology == "" || *topology == t) && name.MatchString(r)
	}
	var rows []faults.Scenario
	for _, s := range faults.Scenarios() {
		if wanted(string(s.Mode), s.Topology.Word(), s.Name) && (*nodes == 0 || s.Nodes == *nodes) {
			rows = append(rows, s)
		}
	}
	if *list {
		for _, s := range rows {
			fmt.Printf("%s\t%s\t%s\n", s.Name, s.Topology.Word(), s.Fault)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := printer{verbose: *verbose, ctx: ctx}
	p.rows(rows, *length)
	if *mode == "" && *nodes == 0 && (*topology == "" || *topology == "alone") {
		p.startups(name)
		if *measures {
			p.measures(name, *length)
		}
	}
	os.Exit(p.end())
}

// printer prints each row when it is done: some take long.
type printer struct {
	ctx     context.Context
	verbose bool

	ran, failed, skipped int
}

func (p *printer) rows(rows []faults.Scenario, length time.Duration) {
	if len(rows) == 0 {
		return
	}
	fmt.Printf("%-62s %-7s %-9s %3s %7s %11s %9s  %s\n", "fault", "mode", "redis", "N", "bound", "O", "admitted", "verdict")
	for _, s := range rows {
		if p.ctx.Err() != nil {
			return
		}
		var r *faults.Result
		why, skipped := attempt(func(t *bench) {
			if r = s.Play(t, length); len(r.Slow) > 0 && len(r.Faults) == 0 {
				r = s.Play(t, length) // the machine may have been busy
			}
		})
		fmt.Printf("%-62s %-7s %-9s %3d ", s.Fault, s.Mode, s.Topology.Word(), s.Nodes)
		switch {
		case skipped:
			p.skipped++
			fmt.Println("skipped:", why)
			continue
		case why != "":
			p.ran++
			p.failed++
			fmt.Println("FAILED:", why)
			continue
		}
		p.ran++
		fmt.Printf("%7.0f %11s %9.3f  %s\n", r.Bound, r.O(), r.Ratio(), p.verdict(r))
		for _, err := range append(r.Faults, r.Slow...) {
			fmt.Printf("    %s: %v\n", s.Name, err)
		}
		if p.verbose {
			fmt.Printf("    %s: %v, stalled %v, bound by %s; denied %d; p50 %v, p99.9 %v; flow %v; silences %d; links %+v\n", s.Name, r.Length.Round(time.Millisecond), r.Stalled.Round(time.Millisecond), r.Rule, r.Denied, r.P50, r.P999, r.Flow, r.Silences, r.Links)
			for i, report := range r.Reports {
				fmt.Printf("    node %d: %+v\n", i, report.Stats)
			}
		}
	}
}

func (p *printer) verdict(r *faults.Result) string {
	switch {
	case len(r.Faults) > 0:
		p.failed++
		return "FAILED"
	case len(r.Slow) > 0:
		p.failed++
		return "FAILED, or the machine is busy"
	}
	return "holds"
}

func (p *printer) startups(name *regexp.Regexp) {
	for first, s := range faults.Startups() {
		if p.ctx.Err() != nil || !name.MatchString("startup "+s.Name) {
			continue
		}
		if first == 0 {
			fmt.Printf("\n%-26s %6s  %-7s  %s\n", "at start", "took", "verdict", "what it says")
		}
		var said, wrong error
		var took time.Duration
		why, _ := attempt(func(t *bench) {
			said, took = s.Try(t)
			wrong = s.Judge(said, took)
		})
		verdict := "holds"
		p.ran++
		if why != "" || wrong != nil {
			verdict, p.failed = "FAILED", p.failed+1
		}
		fmt.Printf("%-26s %6v  %-7s  %v%s\n", s.Name, took.Round(time.Millisecond), verdict, said, why)
	}
}

func (p *printer) measures(name *regexp.Regexp, length time.Duration) {
	for _, m := range faults.Measures() {
		if p.ctx.Err() != nil || !name.MatchString("measure "+m.Name) {
			continue
		}
		var figures []faults.Figure
		why, _ := attempt(func(t *bench) { figures = m.Run(t, length) })
		fmt.Printf("\n%s\n", m.What)
		if why != "" {
			fmt.Println("    not measured:", why)
			continue
		}
		w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
		for _, f := range figures {
			if f.Wanted != "" {
				fmt.Fprintf(w, "    %s\t%s\twanted %s\t%s\n", f.Name, f.Value, f.Wanted, f.Met)
			} else {
				fmt.Fprintf(w, "    %s\t%s\t\t\n", f.Name, f.Value)
			}
		}
		w.Flush()
	}
}

// end prints the sum and returns the exit code.
func (p *printer) end() int {
	fmt.Printf("\n%d hold, %d failed, %d skipped\n", p.ran-p.failed, p.failed, p.skipped)
	if p.failed > 0 {
		return 1
	}
	return 0
}
