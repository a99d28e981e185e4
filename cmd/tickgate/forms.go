package main

import (
	"bytes"
	"io"
	"os"
)

// forms are those that a report can be written in.
type forms[R any] struct{ text, json, html func(io.Writer, R) error }

// print writes a report to standard output, as text or as JSON, and if page names a file
// also to that, as HTML. A file is not begun where the report cannot be written whole.
func (f forms[R]) print(w *world, r R, asJSON bool, page string) error {
	write := f.text
	if asJSON {
		write = f.json
	}
	if err := write(w.stdout, r); err != nil {
		return err
	}
	if page == "" {
		return nil
	}
	var html bytes.Buffer
	if err := f.html(&html, r); err != nil {
		return err
	}
	return os.WriteFile(page, html.Bytes(), 0o644)
}
