package main

import (
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// mostVariables bounds what is told of variables that nobody reads.
const mostVariables = 20

// warnVariables warns of each variable that looks like a flag's and is none's: of a name
// that is misspelt nothing else would tell, and what it was to check would not be
// checked. It is no fault, since others may put variables with such a name there.
func warnVariables(log *slog.Logger, parsed *kong.Context, lookup func(string) (string, bool)) {
	var known []string
	for _, group := range parsed.Selected().AllFlags(true) {
		for _, one := range group {
			if one.Name != "help" && one.Name != "connect" {
				known = append(known, variableOf(one.Name))
			}
		}
	}
	unknown := unknownVariables(os.Environ(), known, lookup)
	for _, name := range unknown[:min(len(unknown), mostVariables)] {
		log.Warn("a variable of the environment is no flag's, and says nothing: mend its name, or take it away",
			"name", name[:min(len(name), 80)], "nearest", nearest(name, known))
	}
	if len(unknown) > mostVariables {
		log.Warn("more variables of the environment are no flag's", "number", len(unknown)-mostVariables)
	}
}

// unknownVariables returns, in order, the names with the prefix that none of known is, of
// those that lookup knows too. Those that Kubernetes makes for each service that is named
// as tickgate-web, to tell its address, are left out.
func unknownVariables(environment, known []string, lookup func(string) (string, bool)) (names []string) {
	service := func(name string) bool {
		for rest := name; ; {
			at := strings.LastIndexByte(rest, '_')
			if at < 0 {
				return false
			}
			rest = rest[:at]
			host, port := rest+"_SERVICE_HOST", strings.TrimPrefix(name, rest)
			if _, ok := lookup(host); ok && (name == host || strings.HasPrefix(port, "_SERVICE_PORT") || port == "_PORT" || strings.HasPrefix(port, "_PORT_")) {
				return true
			}
		}
	}
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		if _, ok := lookup(name); ok && strings.HasPrefix(name, variablePrefix) && !slices.Contains(known, name) && !service(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// nearest returns the one of known, which is not empty, that takes the fewest changes of
// a byte to become from name.
func nearest(name string, known []string) string {
	name = name[:min(len(name), 80)]
	return slices.MinFunc(known, func(a, b string) int { return changes(name, a) - changes(name, b) })
}

// changes counts the bytes that must be put in, taken out or replaced to make b of a.
func changes(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0] // of the row above, to the left
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, above+1, row[j]+1)
			before = above
		}
	}
	return row[len(b)]
}
