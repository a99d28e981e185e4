// Command table reads the output of the benchmarks of this module and prints
// one table: every figure beside the floor of the same machine in the same run,
// beside the fastest peer on the same keys, and beside its target.
//
//	go test -run '^$' -bench . -count 6 | go run ./cmd/table
//	go run ./cmd/table -md before.txt
//
// cmd/report measures as well, and writes more than a table.
//
// It reads the files named, or standard input. With several samples of a figure
// it takes the median. Exit status: 0 when the table was printed; 1 when the
// input holds no figures, comes from different machines or holds a failed
// benchmark; 2 for wrong arguments; with -strict also 1 when a target is missed
// or was not measured.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/tickgate/tickgate/bench/internal/table"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("table", flag.ContinueOnError)
	flags.SetOutput(stderr)
	md := flags.Bool("md", false, "print Markdown")
	strict := flags.Bool("strict", false, "exit with status 1 when a target is missed or was not measured")
	verbose := flags.Bool("v", false, "repeat the input on standard error while it comes in")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}

	m := table.NewMeasurements()
	if err := readAll(m, flags.Args(), stdin, echo(*verbose, stderr)); err != nil {
		fmt.Fprintln(stderr, "table:", err)
		return 1
	}
	m.Conditions.SetDefault("go", runtime.Version()+" (of this command; the input does not say)")

	t := table.New(m)
	write := t.WriteText
	if *md {
		write = t.WriteMarkdown
	}
	if err := write(stdout); err != nil {
		fmt.Fprintln(stderr, "table:", err)
		return 1
	}
	for _, line := range m.Failed {
		fmt.Fprintln(stderr, "table: failed in the input:", line)
	}
	if len(m.Failed) > 0 || *strict && len(t.Of(table.Pass)) < len(t.Targets) {
		return 1
	}
	return 0
}

func echo(on bool, w io.Writer) io.Writer {
	if on {
		return w
	}
	return io.Discard
}

// readAll reads the files into m, or stdin when none is named.
func readAll(m *table.Measurements, files []string, stdin io.Reader, echo io.Writer) error {
	if len(files) == 0 {
		if err := m.Read(io.TeeReader(stdin, echo)); err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
	}
	for _, name := range files {
		if err := readFile(m, name, echo); err != nil {
			return err
		}
	}
	if len(m.Names) == 0 {
		return errors.New("no benchmark result in the input: give it the output of go test -bench")
	}
	return nil
}

func readFile(m *table.Measurements, name string, echo io.Writer) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := m.Read(io.TeeReader(f, echo)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
