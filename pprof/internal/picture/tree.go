// Package picture draws profiles: a table of the functions that cost most, and a flame
// graph as one SVG file. It needs no other program.
package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/tickgate/tickgate/pprof/internal/frame"
)

// View says what of a profile is drawn.
type View struct {
	Title  string
	Value  string   // sample type, such as "cpu"
	Labels []string // of samples; they are grouped by them. nil: they are not
}

// node is a function, called by the one above it.
type node struct {
	name        string
	shown       string // instead of the name without directories
	flat, total int64
	below       map[string]*node
}

func (n *node) child(name string) *node {
	if n.below == nil {
		n.below = map[string]*node{}
	}
	c := n.below[name]
	if c == nil {
		c = &node{name: name}
		n.below[name] = c
	}
	return c
}

// label is what a box says.
func (n *node) label() string { return cmp.Or(n.shown, frame.Short(n.name)) }

// sorted returns the functions below in the order of their names: equal stacks of two
// profiles are then at the same side.
func (n *node) sorted() []*node {
	all := make([]*node, 0, len(n.below))
	for _, c := range n.below {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	return all
}

// tree adds up the samples of p by their stacks.
func (v View) tree(p *profile.Profile) (root *node, unit string, err error) {
	at := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == v.Value })
	if at < 0 {
		return nil, "", fmt.Errorf("%s: the profile has no values of %q", v.Title, v.Value)
	}
	root = &node{name: "all"}
	for _, s := range p.Sample {
		value := s.Value[at]
		if value <= 0 {
			continue
		}
		n := root
		n.total += value
		if len(v.Labels) > 0 {
			label := v.label(s)
			n = n.child(label)
			n.shown = label
			n.total += value
		}
		for _, name := range slices.Backward(frame.Stack(s)) {
			n = n.child(name)
			n.total += value
		}
		n.flat += value
	}
	return root, p.SampleType[at].Unit, nil
}

// label is what the view's labels say of a sample, with slashes in between.
func (v View) label(s *profile.Sample) string {
	var all []string
	for _, name := range v.Labels {
		all = append(all, s.Label[name]...)
	}
	if len(all) == 0 {
		return "without " + strings.Join(v.Labels, " and ")
	}
	return strings.Join(all, "/")
}

// quantity prints a value in its unit.
func quantity(n int64, unit string) string {
	switch unit {
	case "nanoseconds":
		d := time.Duration(n)
		switch {
		case d >= time.Minute:
			return d.Round(time.Second).String()
		case d >= time.Second:
			return d.Round(10 * time.Millisecond).String()
		case d >= time.Millisecond:
			return d.Round(10 * time.Microsecond).String()
		}
		return d.String()
	case "bytes":
		f := float64(n)
		for _, u := range []string{"B", "KiB", "MiB"} {
			if f < 1024 {
				return fmt.Sprintf("%.4g %s", f, u)
			}
			f /= 1024
		}
		return fmt.Sprintf("%.4g GiB", f)
	}
	return fmt.Sprint(n)
}

func percent(n, of int64) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}
