package correspond

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Where table, sums and models are, from the repository's root.
const (
	folder    = "proof/model"
	tableName = folder + "/correspondence.txt"
	sumsName  = folder + "/correspondence.sum"
)

// Check compares table, models and code in the repository at root, and returns all the
// faults it finds, each with what to do about it. It reads some 40 files, in less than a
// second.
func Check(root fs.FS) []error {
	b, faults := open(root)
	if b == nil {
		return faults
	}
	looked := map[look][]string{} // the parts
	for _, e := range b.entries {
		if err := b.entry(&e); err != nil {
			faults = append(faults, err...)
		}
		if e.none == "" {
			l := look{e.model, e.code}
			looked[l] = append(looked[l], e.part)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.models)) {
		for _, part := range b.models[name].needed {
			if !slices.ContainsFunc(b.entries, func(e entry) bool { return e.model == name && e.part == part }) {
				faults = append(faults, fmt.Errorf("%s: %s of %s is not in the table: add which code it stands for, or: %s %s: none, WHY",
					tableName, part, name, name, part))
			}
		}
	}
	faults = append(faults, b.unseen(looked)...)
	for _, l := range slices.SortedFunc(maps.Keys(b.sums), compare) {
		if looked[l] == nil {
			faults = append(faults, fmt.Errorf("%s: %s and %s are not in the table together any more: %s", sumsName, l.model, l.code, command(l.code, l.model)))
		}
	}
	return faults
}

// book is all there is to compare.
type book struct {
	entries []entry
	models  map[string]*pml
	sums    map[look]sum
	library library
}

// open reads it. The book is nil where that is not possible.
func open(root fs.FS) (b *book, faults []error) {
	b = &book{models: map[string]*pml{}, library: library{root, map[string]*source{}}}
	table, err := fs.ReadFile(root, tableName)
	if err != nil {
		return nil, []error{err}
	}
	b.entries, faults = parseTable(string(table))
	names, err := fs.Glob(root, folder+"/*.pml")
	if err != nil {
		return nil, []error{err}
	}
	for _, name := range names {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, []error{err}
		}
		b.models[path.Base(name)] = parts(string(text))
	}
	sums, err := fs.ReadFile(root, sumsName)
	if err != nil {
		return nil, []error{err}
	}
	if b.sums, err = parseSums(string(sums)); err != nil {
		return nil, []error{err}
	}
	return b, faults
}

// entry finds each step of e in the model and in the code, in order.
func (b *book) entry(e *entry) (faults []error) {
	at := func(line int, format string, args ...any) error {
		return fmt.Errorf("%s:%d: %s", tableName, line, fmt.Sprintf(format, args...))
	}
	if b.models[e.model] == nil {
		return []error{at(e.line, "there is no model %s", e.model)}
	}
	text, ok := b.models[e.model].text[e.part]
	if !ok {
		return []error{at(e.line, "%s has no proctype, inline, label or macro %s any more: mend the table", e.model, e.part)}
	}
	if e.none != "" {
		return nil
	}
	in, _, err := b.library.read(e.code)
	if err != nil {
		return []error{at(e.line, "%v, which %s of %s stands for: look where it is now, and mend the table", err, e.part, e.model)}
	}
	model, inModel, inCode := tokens(e.model, text), 0, 0
	for _, s := range e.steps {
		if f := next(model, e.model, s.model, &inModel); f != "" {
			faults = append(faults, at(s.line, "%s %s of %s: %s", s.model, f, e.part, e.model))
		}
		if f := next(in, e.code.file, s.code, &inCode); f != "" {
			faults = append(faults, at(s.line, "%s %s of %s, which does %q in %s of %s: look at the model, mend it or the table, and then, in proof: %s",
				s.code, f, e.code, s.model, e.part, e.model, command(e.code, e.model)))
		}
	}
	return faults
}

// next finds text in all from a place on, and moves the place behind it. It returns what
// is wrong, if anything.
func next(all []token, name, text string, from *int) string {
	part := tokens(name, text)
	if i := find(all, part, *from); i >= 0 {
		*from = i + len(part)
		return ""
	}
	if find(all, part, 0) >= 0 {
		return "does not come after the step above it any more in the text"
	}
	return "is not in the text any more"
}

// now is the sum of code as it is.
func (b *book) now(c code) (sum, error) {
	all, text, err := b.library.read(c)
	return sum{hash(all), sketch(lines(text, all))}, err
}

// unseen tells what code was not compared with its models since it changed. Models with
// which it was compared at the same time share a fault.
func (b *book) unseen(looked map[look][]string) (faults []error) {
	type since struct {
		code code
		then sum
	}
	models := map[since][]look{}
	var order []since
	for _, l := range slices.SortedFunc(maps.Keys(looked), compare) {
		now, err := b.now(l.code)
		s := since{l.code, b.sums[l]}
		if err != nil || s.then.hash == now.hash {
			continue // where it is not there, its entry says so
		}
		if models[s] == nil {
			order = append(order, s)
		}
		models[s] = append(models[s], l)
	}
	for _, s := range order {
		var in, names []string
		for _, l := range models[s] {
			parts := slices.Compact(slices.Sorted(slices.Values(looked[l])))
			in, names = append(in, fmt.Sprintf("%s (%s)", l.model, strings.Join(parts, ", "))), append(names, l.model)
		}
		with, command := strings.Join(in, ", "), command(s.code, names...)
		if s.then.hash == "" {
			faults = append(faults, fmt.Errorf("nobody has compared %s with %s: do, and then, in proof: %s", s.code, with, command))
			continue
		}
		all, text, _ := b.library.read(s.code)
		faults = append(faults, fmt.Errorf("%s changed since it was compared with %s:%s\nLook whether the models still do the same, mend them if not, and then, in proof: %s",
			s.code, with, changes(s.then.sketch, lines(text, all)), command))
	}
	return faults
}

// command is what writes down that somebody looked.
func command(c code, models ...string) string {
	return fmt.Sprintf("go run ./cmd/model -looked %s %s", c.name, strings.Join(models, " "))
}

func compare(a, b look) int {
	return strings.Compare(a.code.String()+" "+a.model, b.code.String()+" "+b.model)
}
