// Command memory measures what a limiter that holds many keys costs beside its
// decisions: bytes of memory per key, and the time of a garbage collection.
//
//	go run ./cmd/memory                  # tickgate, a million keys of 24 bytes
//	go run ./cmd/memory -lib juju
//	go run ./cmd/memory -lib all         # tickgate and every peer, a process each
//	go run ./cmd/memory -lib all -bench  # for cmd/table, cmd/report and benchstat
//
// The figures are differences within one fresh process, before and after the
// limiter was filled. They need Linux, for /proc. Exit status: 0 when the
// figures were printed, 1 when they could not be taken, 2 for wrong arguments.
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

	"github.com/tickgate/tickgate/bench/internal/peer"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// maxKeys bounds -keys, so that a slip of a digit does not exhaust the machine.
const maxKeys = 100_000_000

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("memory", flag.ContinueOnError)
	flags.SetOutput(stderr)
	lib := flags.String("lib", "tickgate", "what to fill: tickgate, "+peer.Names()+" (keyed ones only), or all")
	keys := flags.Int("keys", 1_000_000, "number of keys")
	room := flags.Int("maxkeys", 0, "MaxKeys of the gate; 0: as many as -keys")
	asJSON := flags.Bool("json", false, "print one JSON object instead of a table")
	asBench := flags.Bool("bench", false, "print lines in the form of benchmark results instead of a table")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "memory: unexpected argument %q: the library is given with -lib\n", flags.Arg(0))
		return 2
	}
	if *keys < 1 || *keys > maxKeys || *room < 0 || *room > maxKeys {
		fmt.Fprintf(stderr, "memory: -keys must be 1 to %d and -maxkeys 0 to %d\n", maxKeys, maxKeys)
		return 2
	}
	if *asJSON && *asBench {
		fmt.Fprintln(stderr, "memory: -json and -bench exclude each other: give one")
		return 2
	}
	write := writeTable
	if *asJSON {
		write = writeJSON
	}
	if *asBench {
		write = writeBench
	}
	if *room == 0 {
		*room = *keys
	}
	names := []string{*lib}
	if *lib == "all" {
		names = libs()
	} else if !known(*lib) {
		fmt.Fprintf(stderr, "memory: -lib %q holds no keys or is unknown: use one of %v or all\n", *lib, libs())
		return 2
	}
	if err := report(stdout, names, *keys, *room, write); err != nil {
		fmt.Fprintln(stderr, "memory:", err)
		return 1
	}
	return 0
}

// libs are the names that -lib takes.
func libs() []string {
	names := []string{"tickgate"}
	for _, l := range peer.All() {
		if l.Keyed {
			names = append(names, l.Name)
		}
	}
	return names
}

func known(name string) bool {
	for _, n := range libs() {
		if n == name {
			return true
		}
	}
	return false
}

// report measures one library in this process, or each of several in a process
// of its own, and writes the figures.
func report(w io.Writer, names []string, keys, room int, write func(io.Writer, []result) error) error {
	var all []result
	for _, name := range names {
		one := measure
		if len(names) > 1 {
			one = measureApart
		}
		r, err := one(name, keys, room)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, r)
	}
	return write(w, all)
}

// measureApart measures in a new process of this program.
func measureApart(name string, keys, room int) (result, error) {
	self, err := os.Executable()
	if err != nil {
		return result{}, err
	}
	cmd := exec.Command(self, "-json", "-lib", name, "-keys", strconv.Itoa(keys), "-maxkeys", strconv.Itoa(room))
	var out, fault bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &fault
	if err := cmd.Run(); err != nil {
		return result{}, fmt.Errorf("%w: %s", err, bytes.TrimSpace(fault.Bytes()))
	}
	var r result
	err = json.Unmarshal(out.Bytes(), &r)
	return r, err
}
