package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/tickgate/tickgate/pprof/internal/frame"
	"github.com/tickgate/tickgate/pprof/internal/load"
	"github.com/tickgate/tickgate/pprof/internal/record"
	"github.com/tickgate/tickgate/pprof/internal/verdict"
)

// errUnclean is the error of a capture that found something.
var errUnclean = errors.New("the decision path waits or allocates: see the stacks above")

// captured is what the profiles of one group say.
type captured struct {
	group  load.Group
	calls  int64
	rules  map[string]verdict.Ruling // by kind
	shares string                    // of CPU time in decisions
}

// capture drives the groups, writes their profiles into dir and the report to stdout
// and into dir, and fails if the decision path is not clean.
func capture(dir string, groups []load.Group, each time.Duration, workers int, stdout io.Writer) error {
	if err := clear(dir); err != nil {
		return err
	}
	recorded, calls, err := recordAll(groups, each, workers)
	if err != nil {
		return err
	}
	roots := verdict.Decisions()
	var report bytes.Buffer
	out := io.MultiWriter(stdout, &report)
	fmt.Fprintf(out, "%s %s/%s, %d workers on %d processors, %v for each path\n", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		workers, runtime.GOMAXPROCS(0), each)
	fmt.Fprintf(out, "decision path: whatever runs within%s\n\n", methods(roots))
	fmt.Fprintf(out, "%-10s %13s %12s", "group", "decisions", "their CPU")
	for _, k := range verdict.Kinds {
		fmt.Fprintf(out, " %18s", k.Name)
	}
	fmt.Fprintln(out, "   samples from the decision path, of all")
	var all []captured
	for i, g := range groups {
		c, err := judgeGroup(dir, g, roots, recorded[i])
		if err != nil {
			return err
		}
		c.calls = calls[i]
		c.row(out)
		all = append(all, c)
	}
	err = conclude(out, all)
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "report.txt"), report.Bytes(), 0o644))
}

// recordAll drives all groups with every sample recorded.
func recordAll(groups []load.Group, each time.Duration, workers int) (all []record.Recording, calls []int64, err error) {
	usual := record.EverySample()
	defer usual()
	if err := control(); err != nil {
		return nil, nil, err
	}
	for _, g := range groups {
		r, n, err := recordGroup(g, each, workers)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", g.Name, err)
		}
		all, calls = append(all, r), append(calls, n)
	}
	return all, calls, nil
}

// recordGroup drives one group.
func recordGroup(g load.Group, each time.Duration, workers int) (r record.Recording, calls int64, err error) {
	s, err := record.Start()
	if err != nil {
		return r, 0, err
	}
	var faults []error
	for _, path := range g.Cases {
		n, err := path.Run(each, workers, s.Goroutines)
		faults = append(faults, err)
		calls += n
	}
	r, err = s.Stop()
	return r, calls, errors.Join(append(faults, err)...)
}

// methods lists the decision methods, those of a type on a line.
func methods(roots verdict.Roots) string {
	var list strings.Builder
	last := ""
	for _, name := range roots.Names() {
		name = strings.TrimPrefix(name, "tickgate.")
		dot := strings.LastIndexByte(name, '.')
		if of := name[:dot]; of != last {
			last = of
			fmt.Fprintf(&list, "\n  %-9s", strings.Trim(of, "(*)"))
		}
		list.WriteString(" " + name[dot+1:])
	}
	return list.String()
}

// judgeGroup writes the profiles of one group and judges them.
func judgeGroup(dir string, g load.Group, roots verdict.Roots, r record.Recording) (captured, error) {
	c := captured{group: g, rules: map[string]verdict.Ruling{}}
	profiles, err := r.Profiles()
	if err != nil {
		return c, err
	}
	if c.shares, err = decided(profiles["cpu"], roots); err != nil {
		return c, fmt.Errorf("%s: %w", g.Name, err)
	}
	for _, k := range verdict.Kinds {
		r, err := roots.Judge(k, profiles[k.Name])
		if err != nil {
			return c, err
		}
		c.rules[k.Name] = r
	}
	return c, write(dir, g, profiles)
}

// decided returns the share of CPU time within decisions. If there is none although
// there are samples enough, the names of the decision methods are not those of the
// profiles, and a verdict by them would be worth nothing.
func decided(cpu *profile.Profile, roots verdict.Roots) (string, error) {
	const enough = 20
	var all, within int64
	for _, s := range cpu.Sample {
		all += s.Value[0]
		if roots.Of(frame.Stack(s)) != "" {
			within += s.Value[0]
		}
	}
	switch {
	case all >= enough && within == 0:
		return "", errors.New("no CPU sample is within a decision: the profiles name functions in another way than this program")
	case all == 0:
		return "?", nil
	}
	return fmt.Sprintf("%d %%", 100*within/all), nil
}

// row prints what a group came to.
func (c captured) row(out io.Writer) {
	fmt.Fprintf(out, "%-10s %13d %12s", c.group.Name, c.calls, c.shares)
	for _, k := range verdict.Kinds {
		r := c.rules[k.Name]
		var bad int64
		for _, f := range r.Faults() {
			bad += f.Count
		}
		fmt.Fprintf(out, " %18s", fmt.Sprintf("%d of %d", bad, r.Samples))
	}
	fmt.Fprintln(out)
}

// conclude prints what was found, and fails if any of it is a fault.
func conclude(out io.Writer, all []captured) error {
	var faults, known bytes.Buffer
	for _, c := range all {
		for _, k := range verdict.Kinds {
			for _, f := range c.rules[k.Name].Faults() {
				fmt.Fprintf(&faults, "%s: ", c.group.Name)
				f.Write(&faults)
			}
			why := c.rules[k.Name].Known()
			for _, w := range slices.Sorted(maps.Keys(why)) {
				fmt.Fprintf(&known, "%s: %d of %s: %s\n", c.group.Name, why[w], k.Name, w)
			}
		}
	}
	if known.Len() > 0 {
		fmt.Fprintf(out, "\nof the decision path, but no fault:\n%s", &known)
	}
	if faults.Len() > 0 {
		fmt.Fprintf(out, "\nFAULTS\n%s", &faults)
		return errUnclean
	}
	fmt.Fprintln(out, "\nclean: no mutex, block or allocation sample comes from the decision path")
	return nil
}
