package envoyrls

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MaxBytes is the longest file: 4 MiB.
const MaxBytes = 4 << 20

// File is the text of one domain's limits. Name stands in errors.
type File struct {
	Name string
	Text []byte
}

// Read reads files, and of directories every file in them that ends in .yaml or .yml and
// does not begin with a dot, in the order of their names. It reports every fault. A path
// of which nothing comes is one, and what is no regular file where all links to it are
// followed.
func Read(paths ...string) ([]File, error) {
	var files []File
	var faults []error
	for _, path := range paths {
		names, err := expand(path)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		for _, name := range names {
			text, err := read(name)
			if err != nil {
				faults = append(faults, err)
				continue
			}
			files = append(files, File{Name: name, Text: text})
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return files, nil
}

// expand returns the files that path stands for.
func expand(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() { // read looks at what it is
		return []string{path}, err
	}
	entries, err := os.ReadDir(path) // in order
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && (ext == ".yaml" || ext == ".yml") {
			names = append(names, filepath.Join(path, e.Name()))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no file that ends in .yaml or .yml", path)
	}
	return names, nil
}

// read returns the text of a regular file, or of the one that links end at. Opening
// anything else, such as a pipe, could block for ever.
func read(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file; name a file, or a folder of files", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	return text, nil
}

func sameFiles(a, b []File) bool {
	return slices.EqualFunc(a, b, func(a, b File) bool { return a.Name == b.Name && string(a.Text) == string(b.Text) })
}

func cloneFiles(files []File) []File {
	out := slices.Clone(files)
	for i := range out {
		out[i].Text = slices.Clone(out[i].Text)
	}
	return out
}
