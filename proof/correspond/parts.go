package correspond

import (
	"regexp"
	"slices"
	"strings"
)

// pml is a model: the text of each of its parts, by name, and the parts that must be in
// the table: all but macros.
type pml struct {
	text   map[string]string
	needed []string
}

var (
	pmlComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	pmlDefine  = regexp.MustCompile(`^#define\s+(\w+)`)
	pmlBlock   = regexp.MustCompile(`^(?:inline|proctype|init)\b\s*(\w*)`)
	pmlLabel   = regexp.MustCompile(`^\s*([A-Za-z_]\w*):(?:[^:]|$)`)
)

// branches are those of the preprocessor's conditions that a line is in.
type branches []branch

// branch is what is compiled under a condition: with a bug seeded, without, or either.
type branch struct{ with, without bool }

var (
	pmlWith    = regexp.MustCompile(`(?:^#ifdef\s+|[^!]defined\()BUG_`)
	pmlWithout = regexp.MustCompile(`^#ifndef\s+BUG_`)
)

// see takes the next line, and reports whether it is of no part: a condition, or what
// only a bug has.
func (b *branches) see(line string) bool {
	n := len(*b) - 1
	this := branch{pmlWith.MatchString(line), pmlWithout.MatchString(line)}
	switch {
	case strings.HasPrefix(line, "#if"):
		*b = append(*b, this)
	case n < 0:
	case strings.HasPrefix(line, "#elif"):
		(*b)[n] = this
	case strings.HasPrefix(line, "#else"):
		(*b)[n] = branch{with: (*b)[n].without}
	case strings.HasPrefix(line, "#endif"):
		*b = (*b)[:n]
	default:
		return slices.ContainsFunc(*b, func(in branch) bool { return in.with })
	}
	return strings.HasPrefix(line, "#if") || n >= 0
}

// parts takes a model apart. Labels that begin with end, progress or accept are spin's
// own and no parts.
func parts(src string) *pml {
	m := &pml{text: map[string]string{}}
	src = pmlComment.ReplaceAllStringFunc(src, func(c string) string { return strings.Repeat("\n", strings.Count(c, "\n")) })
	part, macro := "", ""
	var bugs branches
	add := func(name, line string) {
		if name != "" {
			m.text[name] += line + "\n"
		}
	}
	begin := func(name string) {
		part = name
		if name != "" {
			m.needed = append(m.needed, name)
		}
	}
	for line := range strings.Lines(src) {
		line = strings.TrimRight(line, " \t\n")
		if bugs.see(line) {
			continue
		}
		if d := pmlDefine.FindStringSubmatch(line); d != nil {
			macro = d[1]
		}
		if macro != "" {
			add(macro, line)
			if !strings.HasSuffix(line, `\`) {
				macro = ""
			}
			continue
		}
		if b := pmlBlock.FindStringSubmatch(line); b != nil {
			begin(b[1])
		} else if l := pmlLabel.FindStringSubmatch(line); l != nil && !reserved(l[1]) {
			begin(l[1])
		}
		add(part, line)
		if line == "}" || pmlBlock.MatchString(line) && strings.HasSuffix(line, "}") {
			part = ""
		}
	}
	return m
}

func reserved(label string) bool {
	for _, p := range []string{"end", "progress", "accept"} {
		if strings.HasPrefix(label, p) {
			return true
		}
	}
	return false
}
