package correspond

import (
	"fmt"
	"strings"
)

// entry says which code a part of a model stands for, or why none.
type entry struct {
	line  int
	model string // the file
	part  string
	none  string // why there is no code
	code  code
	steps []step
}

// step is a piece of a part's text, and the code that does the same.
type step struct {
	line        int
	model, code string
}

// equals stands between the two sides of a step: in no language it means anything.
const equals = "<=>"

// parseTable reads the table. It returns all the faults that it finds.
func parseTable(text string) (entries []entry, faults []error) {
	fault := func(line int, what string) {
		faults = append(faults, fmt.Errorf("%s:%d: %s", tableName, line, what))
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") && line[0] == '#' {
			continue
		}
		if line[0] == ' ' || line[0] == '\t' {
			model, code, ok := strings.Cut(trimmed, equals)
			model, code = strings.TrimSpace(model), strings.TrimSpace(code)
			switch n := len(entries) - 1; {
			case !ok || model == "" || code == "":
				fault(number, "a step is: the model's text "+equals+" the code's")
			case n < 0 || entries[n].none != "":
				fault(number, "a step without code above it")
			default:
				entries[n].steps = append(entries[n].steps, step{number, model, code})
			}
			continue
		}
		head, tail, ok := strings.Cut(trimmed, ":")
		names, place := strings.Fields(head), strings.Fields(tail)
		none, without := strings.CutPrefix(strings.TrimSpace(tail), "none, ")
		if !ok || len(names) != 2 || !without && len(place) != 2 {
			fault(number, "an entry is: MODEL PART: FILE NAME, or: MODEL PART: none, WHY")
			continue
		}
		e := entry{line: number, model: names[0], part: names[1]}
		if e.none = none; !without {
			e.none, e.code = "", code{place[0], place[1]}
		}
		entries = append(entries, e)
	}
	for _, e := range entries {
		if e.none == "" && len(e.steps) == 0 {
			fault(e.line, "no step says what "+e.part+" and "+e.code.name+" have in common")
		}
	}
	return entries, faults
}
