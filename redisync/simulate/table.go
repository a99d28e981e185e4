package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tickgate/tickgate/redisync"
	"github.com/tickgate/tickgate/redisync/internal/fleet"
)

// table is one table of the report.
type table struct {
	title, note string
	heads       []string
	rows        [][]string
}

func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	t.rows = append(t.rows, row)
}

// write prints it as text, or as Markdown.
func (t *table) write(w io.Writer, md bool) {
	if md {
		fmt.Fprintf(w, "**%s** %s\n\n| %s |\n|%s\n", t.title, t.note, strings.Join(t.heads, " | "), strings.Repeat("--:|", len(t.heads)))
		for _, r := range t.rows {
			fmt.Fprintf(w, "| %s |\n", strings.Join(r, " | "))
		}
		fmt.Fprintln(w)
		return
	}
	fmt.Fprintf(w, "%s %s\n\n", t.title, t.note)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, r := range append([][]string{t.heads}, t.rows...) {
		fmt.Fprintln(tw, strings.Join(r, "\t")+"\t")
	}
	tw.Flush()
	fmt.Fprintln(w)
}

// loadTable has a row for each number of nodes; the results are in the order of scenes.
func loadTable(results []fleet.Result) table {
	t := table{
		title: "One key, 10,000/s, 1,000 at once; greedy / poisson / skewed.",
		note: "b is the credit; beyond, the most tokens in any window over C + r·τ, at most (N - 1)·b; admitted, in parts of what there " +
			"was or was asked for; unsettled, calls denied for want of credit; busy, at 15 µs a call; wait, the longest for a turn at Redis. " +
			"Greedy: all ask once a ms until denied; poisson: 0.9 of the rate; skewed: 1.5 of it, the i-th node 1/i of the first.",
		heads: []string{"nodes", "b", "bound", "beyond", "admitted", "unsettled", "calls/s", "busy", "wait"},
	}
	for len(results) > 0 {
		same := 1
		for same < len(results) && results[same].Nodes == results[0].Nodes {
			same++
		}
		of := func(cell func(r *fleet.Result) string) string {
			var cells []string
			for i := range results[:same] {
				cells = append(cells, cell(&results[i]))
			}
			return strings.Join(cells, " / ")
		}
		r := &results[0]
		t.add(r.Nodes, r.Credit, r.Bound(),
			of(func(r *fleet.Result) string { return fmt.Sprintf("%.0f", r.Excess) }),
			of(func(r *fleet.Result) string { return fmt.Sprintf("%.3f", float64(r.Admitted)/r.Possible()) }),
			of(func(r *fleet.Result) string {
				if r.Offered == 0 {
					return "-"
				}
				return percent(float64(r.Unsettled) / float64(r.Offered))
			}),
			of(func(r *fleet.Result) string { return fmt.Sprintf("%.0f", r.CallsPerSecond()) }),
			of(func(r *fleet.Result) string { return percent(r.Busy()) }),
			of(func(r *fleet.Result) string { return r.Wait.Round(10 * time.Microsecond).String() }),
		)
		results = results[same:]
	}
	return t
}

func changeTable(results []fleet.Result) table {
	t := table{
		title: "After a change, greedy.",
		note: fmt.Sprintf("Half: the second half of the nodes begins to ask; when it has its half within %s, in windows of 200 ms. "+
			"Each: when every single node has its part within %s, in windows of (…). "+
			"Away: Redis is silent for 3 s; the flow in parts of the rate in the first second, by the credit, and after that, by the shares; "+
			"beyond, as above; back: when the flow is within %s of the rate again, in windows of 200 ms.", percent(fleet.Fair), percent(fleet.Fair), percent(fleet.Level)),
		heads: []string{"nodes", "b", "half", "each", "away 1st s", "away later", "beyond", "back"},
	}
	joined := map[int]fleet.Result{}
	for _, r := range results {
		if r.Away == 0 {
			joined[r.Nodes] = r
			continue
		}
		j := joined[r.Nodes]
		half, each, back := j.Newcomers(), j.Each(), r.Recovered()
		before, after := r.AloneFlow()
		t.add(r.Nodes, r.Credit, when(half), fmt.Sprintf("%s (%v)", when(each), each.Window),
			percent(before), percent(after), fmt.Sprintf("%.0f", r.Excess), when(back))
	}
	return t
}

// memoryTable is reckoned, with totals of 7 digits and epochs of 3.
func memoryTable(nodes []int) table {
	t := table{
		title: "Memory in Redis for a key,",
		note:  "as MEMORY USAGE says it; expiry and tables of keys take 60 to 120 bytes besides.",
		heads: []string{"nodes", "bytes", "a node"},
	}
	p, err := redisync.PolicyOf(limit.Tokens, limit.Per, limit.Capacity, 1_790_000_000_000)
	if err != nil {
		panic(err) // limit is a constant
	}
	key := redisync.BudgetKey(redisync.DefaultPrefix, "order.new", "limit", "key")
	for _, n := range append([]int{1}, nodes...) {
		size := fleet.Footprint(key, p, fleet.Field{Slot: "AbCdEfGh", Epoch: 100, Total: 1_000_000, Seconds: 1_790_000_000}, n)
		t.add(n, size, size/n)
	}
	return t
}

func percent(x float64) string {
	if x < .095 && x != 0 {
		return fmt.Sprintf("%.1f%%", 100*x)
	}
	return fmt.Sprintf("%.0f%%", 100*x)
}

// when says after how long something was so for good.
func when(s fleet.Steady) string {
	switch {
	case !s.Ever:
		return fmt.Sprintf("not yet: %s off", percent(s.Worst))
	case s.After == 0:
		return "at once"
	}
	return s.After.String()
}
