package correspond

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// Looked writes down that somebody compared models with functions as they are now, and
// returns the new contents of the file of sums, and how many lines of it are new. Names
// that the table does not have together are a fault.
func Looked(root fs.FS, functions, models []string) (sums string, n int, err error) {
	b, faults := open(root)
	if b == nil {
		return "", 0, faults[0]
	}
	left := map[string]bool{}
	for _, name := range slices.Concat(functions, models) {
		left[name] = true
	}
	kept := map[look]sum{}
	for _, e := range b.entries {
		l := look{e.model, e.code}
		if _, twice := kept[l]; twice || e.none != "" {
			continue
		}
		if s, ok := b.sums[l]; ok {
			kept[l] = s
		}
		if !slices.Contains(functions, e.code.name) || !slices.Contains(models, e.model) {
			continue
		}
		delete(left, e.code.name)
		delete(left, e.model)
		now, err := b.now(e.code)
		if err != nil {
			return "", 0, err
		}
		if kept[l] != now {
			n++
		}
		kept[l] = now
	}
	for l := range b.sums { // one that the table does not have any more goes
		if slices.Contains(functions, l.code.name) && slices.Contains(models, l.model) {
			delete(left, l.code.name)
			delete(left, l.model)
		}
	}
	if names := slices.Sorted(maps.Keys(left)); len(names) > 0 {
		return "", 0, fmt.Errorf("%s: no entry has %s together with the others named", tableName, names[0])
	}
	return formatSums(kept), n, nil
}

// SumsName is where what Looked returns is to be written, from the repository's root.
func SumsName() string { return sumsName }
