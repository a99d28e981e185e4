// Package frame reads the stacks of samples.
package frame

import (
	"strings"

	"github.com/google/pprof/profile"
)

// Stack returns the functions of a sample from the leaf to the goroutine's start,
// inlined ones too.
func Stack(s *profile.Sample) (names []string) {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function != nil {
				names = append(names, line.Function.Name)
			}
		}
	}
	return names
}

// Short returns the name of a function without the directories of its package.
func Short(name string) string {
	end := len(name)
	if i := strings.IndexByte(name, '['); i >= 0 {
		end = i // what is in the brackets of a generic function has paths too
	}
	return name[strings.LastIndexByte(name[:end], '/')+1:]
}
