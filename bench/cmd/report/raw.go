package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tickgate/tickgate/bench/internal/table"
)

// raw is the folder with the results as they came, a file for each round and one
// for the memory, each under the description of the machine. Conditions that
// belong to one run, such as its date, stand behind a #, where benchstat does not
// see them: it compares only results under equal conditions.
type raw struct {
	dir     string
	machine table.Conditions
	last    string // name of the file written to last
	before  processors
}

// ofRun are the conditions of a run rather than of a machine.
var ofRun = map[string]bool{"date": true, "commit": true, "mode": true, "load-before": true}

// newRaw empties the folder of earlier results.
func newRaw(out string, machine table.Conditions) (*raw, error) {
	dir := filepath.Join(out, "raw")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("give another folder with -out: %w", err)
	}
	files, err := rawFiles(out)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			return nil, err
		}
	}
	return &raw{dir: dir, machine: machine, before: readProcessors()}, nil
}

// rawFiles are the files of results in a folder of a report, in their order.
func rawFiles(out string) ([]string, error) {
	var all []string
	for _, pattern := range []string{"memory.txt", "round-[0-9][0-9].txt"} {
		files, err := filepath.Glob(filepath.Join(out, "raw", pattern))
		if err != nil {
			return nil, err
		}
		slices.Sort(files)
		all = append(all, files...)
	}
	return all, nil
}

// add appends the output of a program to the file of that name.
func (r *raw) add(name string, output []byte) error {
	var text bytes.Buffer
	if name != r.last {
		r.last = name
		for _, c := range r.machine {
			mark := ""
			if ofRun[c.Key] {
				mark = "# "
			}
			fmt.Fprintf(&text, "%s%s: %s\n", mark, c.Key, c.Value)
		}
		text.WriteByte('\n')
	}
	r.results(&text, output)
	return r.write(text.Bytes())
}

var condition = regexp.MustCompile(`^([a-z][a-z0-9-]*): `)

// results copies the output without what the head of the file says already, and
// without the remark that all went well.
func (r *raw) results(text *bytes.Buffer, output []byte) {
	in := bufio.NewScanner(bytes.NewReader(output))
	for in.Scan() {
		line := in.Text()
		if c := condition.FindStringSubmatch(line); c != nil {
			if _, known := r.machine.Get(c[1]); known {
				continue
			}
		}
		if strings.TrimSpace(line) != "" && line != "PASS" {
			text.WriteString(line + "\n")
		}
	}
}

// finish notes how the run ended.
func (r *raw) finish(rounds, planned int, took time.Duration) error {
	end := fmt.Sprintf("\n# rounds: %d of %d\n# took: %s\n", rounds, planned, took.Round(time.Second))
	if load := loadAverage(); load != "" {
		end += fmt.Sprintf("# load-after: %s, with the load of the benchmarks\n", load)
	}
	if share, ok := readProcessors().stolenSince(r.before); ok {
		end += fmt.Sprintf("# stolen: %.1f%% of the processors' time went to other virtual machines\n", 100*share)
	}
	return r.write([]byte(end))
}

// write appends to the file written to last.
func (r *raw) write(text []byte) error {
	f, err := os.OpenFile(filepath.Join(r.dir, r.last+".txt"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
