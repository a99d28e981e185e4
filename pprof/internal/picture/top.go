package picture

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/tickgate/tickgate/pprof/internal/frame"
)

// cost is what a function costs: itself, and with all that it calls.
type cost struct {
	name      string
	flat, cum int64
}

// Top writes the rows functions that cost most: flat is spent in the function itself,
// cum in it and in what it calls. With labels, the shares of their values come first.
func (v View) Top(w io.Writer, p *profile.Profile, rows int) error {
	root, unit, err := v.tree(p)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s: %s of %s\n", v.Title, quantity(root.total, unit), v.Value)
	if root.total == 0 {
		fmt.Fprintln(out, "no samples")
		return out.Flush()
	}
	if len(v.Labels) > 0 {
		shares := root.sorted()
		slices.SortStableFunc(shares, func(a, b *node) int { return cmp.Compare(b.total, a.total) })
		fmt.Fprintf(out, "\n%12s %7s\n", v.Value, "share")
		for _, n := range shares {
			fmt.Fprintf(out, "%12s %6.1f%%  %s\n", quantity(n.total, unit), percent(n.total, root.total), n.name)
		}
	}
	costs := v.costs(p)
	fmt.Fprintf(out, "\n%12s %7s %12s %7s\n", "flat", "", "cum", "")
	for _, c := range costs[:min(rows, len(costs))] {
		fmt.Fprintf(out, "%12s %6.1f%% %12s %6.1f%%  %s\n",
			quantity(c.flat, unit), percent(c.flat, root.total), quantity(c.cum, unit), percent(c.cum, root.total), frame.Short(c.name))
	}
	if more := len(costs) - rows; more > 0 {
		fmt.Fprintf(out, "and %d more functions\n", more)
	}
	return out.Flush()
}

// costs adds up the samples by function, the most costly first. One that is several
// times in a stack counts once.
func (v View) costs(p *profile.Profile) []cost {
	at := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == v.Value })
	index := map[string]int{}
	var costs []cost
	for _, s := range p.Sample {
		value := s.Value[at]
		if value <= 0 {
			continue
		}
		seen := map[string]bool{}
		for depth, name := range frame.Stack(s) {
			i, ok := index[name]
			if !ok {
				i = len(costs)
				index[name] = i
				costs = append(costs, cost{name: name})
			}
			if depth == 0 {
				costs[i].flat += value
			}
			if !seen[name] {
				seen[name] = true
				costs[i].cum += value
			}
		}
	}
	slices.SortFunc(costs, func(a, b cost) int {
		return cmp.Or(cmp.Compare(b.flat, a.flat), cmp.Compare(b.cum, a.cum), strings.Compare(a.name, b.name))
	})
	return costs
}
