package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCmd struct{}

// Help is printed under the flags.
func (versionCmd) Help() string {
	return `Examples:

  tickgate version`
}

// Run is called by the parser.
func (versionCmd) Run(w *world) error {
	_, err := fmt.Fprintln(w.stdout, version())
	return err
}

// version returns the module's version, the commit where the build knows it,
// and what it was built with and for, in one line.
func version() string {
	v, commit := "(devel)", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			v = info.Main.Version
		}
		dirty := ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = " " + s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = " (modified)"
			}
		}
		if commit != "" {
			commit += dirty
		}
	}
	return fmt.Sprintf("tickgate %s%s %s %s/%s", v, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
