package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/pprof/profile"

	"github.com/tickgate/tickgate/pprof/internal/load"
	"github.com/tickgate/tickgate/pprof/internal/picture"
	"github.com/tickgate/tickgate/pprof/internal/record"
)

// rows is how many functions a table has.
const rows = 40

// labels are those that the paths carry, in the order of their names in a list.
var labels = []string{"policy", "path"}

// drawn are what is drawn of each kind of profile, and by which labels.
var drawn = map[string]picture.View{
	"cpu":       {Value: "cpu", Labels: labels},
	"allocs":    {Value: "alloc_space"},
	"heap":      {Value: "inuse_space"},
	"mutex":     {Value: "delay"},
	"block":     {Value: "delay"},
	"goroutine": {Value: "goroutine", Labels: labels},
}

// endings are the forms in which a profile is written.
var endings = []string{".pb.gz", ".txt", ".svg"}

// clear makes dir and removes what a capture before left there, so that all files in
// it are of one capture. Other files stay.
func clear(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old := []string{"report.txt"}
	for _, g := range load.Groups() {
		for _, kind := range record.Kinds {
			for _, e := range endings {
				old = append(old, g.Name+"."+kind+e)
			}
		}
	}
	for _, name := range old {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// write writes the profiles of a group in all forms.
func write(dir string, g load.Group, profiles map[string]*profile.Profile) error {
	for _, kind := range record.Kinds {
		p, v := profiles[kind], drawn[kind]
		v.Title = fmt.Sprintf("%s, %s (%s)", g.Name, kind, g.What)
		for i, do := range []func(io.Writer) error{
			p.Write,
			func(w io.Writer) error { return v.Top(w, p, rows) },
			func(w io.Writer) error { return v.Flame(w, p) },
		} {
			if err := create(filepath.Join(dir, g.Name+"."+kind+endings[i]), do); err != nil {
				return err
			}
		}
	}
	return nil
}

// create writes a file.
func create(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
