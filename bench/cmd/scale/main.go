// Command scale measures what a decision costs and how much memory a key takes in gates of
// a thousand to ten million keys.
//
//	go run ./cmd/scale                       1k to 10M keys, a process each, about a minute
//	go run ./cmd/scale -keys 1000,50000
//	go run ./cmd/scale -md                   the table as Markdown
//	go run ./cmd/scale -pairs                two goroutines, with and without lines in common
//
// Instructions and cache misses of a decision are the difference of two runs, per call:
//
//	go build -o scale ./cmd/scale
//	for n in 100000 200000; do
//		GOMAXPROCS=1 GODEBUG=asyncpreemptoff=1 valgrind --tool=callgrind --cache-sim=yes --LL=1048576,16,64 --callgrind-out-file=/dev/null \
//			./scale -path gate -keys 50000 -calls $n
//	done
//
// A size for which memory is short is skipped with a word. It needs Linux, for /proc. Exit status: 0
// when every other figure was taken, 1 when one could not be, 2 for wrong arguments.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// maxKeys bounds -keys, so that a slip of a digit does not exhaust the machine.
const maxKeys = 100_000_000

type options struct {
	keys   []int
	rounds int
	asJSON bool
	md     bool
	pairs  bool
	path   string
	calls  int
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "scale:", err)
		return 2
	}
	if err := o.report(stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "scale:", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := new(options)
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	flags.SetOutput(stderr)
	keys := flags.String("keys", "1000,10000,100000,1000000,10000000", fmt.Sprintf("numbers of keys, 64 to %d, with commas", maxKeys))
	flags.IntVar(&o.rounds, "rounds", 7, "samples of each figure, 1 to 100; the table has their median")
	flags.BoolVar(&o.asJSON, "json", false, "measure one size, in this process, and print one JSON object")
	flags.BoolVar(&o.md, "md", false, "print Markdown")
	flags.BoolVar(&o.pairs, "pairs", false, "measure two goroutines, with and without lines in common, and nothing else")
	flags.StringVar(&o.path, "path", "", "only make -calls on this path, for callgrind: "+paths)
	flags.IntVar(&o.calls, "calls", 100_000, "how many calls on -path, at least 1")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	var faults []error
	if flags.NArg() > 0 {
		faults = append(faults, fmt.Errorf("unexpected argument %q", flags.Arg(0)))
	}
	if o.rounds < 1 || o.rounds > 100 {
		faults = append(faults, fmt.Errorf("-rounds %d: must be 1 to 100", o.rounds))
	}
	for text := range strings.SplitSeq(*keys, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < batch || n > maxKeys {
			faults = append(faults, fmt.Errorf("-keys %s: must be %d to %d", text, batch, maxKeys))
		}
		o.keys = append(o.keys, n)
	}
	if (o.asJSON || o.path != "") && len(o.keys) != 1 {
		faults = append(faults, errors.New("-json, -path: need one number of -keys"))
	}
	if o.calls < 1 {
		faults = append(faults, fmt.Errorf("-calls %d: must be at least 1", o.calls))
	}
	return o, errors.Join(faults...)
}

// report measures every size, and prints the figures.
func (o *options) report(w, progress io.Writer) error {
	switch {
	case o.path != "":
		return repeat(o.path, o.keys[0], o.calls)
	case o.pairs:
		return reportPairs(w)
	case o.asJSON:
		r, err := measure(o.keys[0], o.rounds)
		if err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(r)
	}
	var all []result
	for _, keys := range o.keys {
		free, err := available()
		if err != nil {
			return err
		}
		if needs := needed(keys); needs > free {
			fmt.Fprintf(progress, "scale: %d keys skipped: they need %d MB, %d are free\n", keys, needs>>20, free>>20)
			continue
		}
		r, err := measureApart(keys, o.rounds)
		if err != nil {
			return fmt.Errorf("%d keys: %w", keys, err)
		}
		all = append(all, r)
	}
	return write(w, all, o.rounds, o.md)
}

// measureApart measures in a new process of this program.
func measureApart(keys, rounds int) (r result, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	cmd := exec.Command(self, "-json", "-keys", strconv.Itoa(keys), "-rounds", strconv.Itoa(rounds))
	var out, fault bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &fault
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("%w: %s", err, bytes.TrimSpace(fault.Bytes()))
	}
	return r, json.Unmarshal(out.Bytes(), &r)
}
