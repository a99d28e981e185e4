// Model checks the models of the protocols with spin, exhaustively, and
// that each bug seeded into them is caught. It prints one table.
//
// It needs spin and gcc, two processors for three to five minutes, and 3 GB of memory.
// Arguments name the models to check, such as change.pml; without any, all are.
//
// With -looked FUNCTIONS it checks nothing. It writes down that somebody compared the
// models named with those functions of the code, separated by commas, as they are now
// (package correspond). That needs neither spin nor gcc.
//
// Exit status: 0 all is as it should be; 1 a surprise; 2 wrong arguments; 3 spin or gcc
// is missing.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/tickgate/tickgate/proof/model"
)

// unchecked says why no check of all has the model of that name, "" if one has it.
func unchecked(name string, all []check) string {
	var files []string
	for _, c := range all {
		if c.file == name {
			return ""
		}
		if !slices.Contains(files, c.file) {
			files = append(files, c.file)
		}
	}
	if _, err := fs.Stat(model.Files, name); err != nil {
		return fmt.Sprintf("there is no model %s in proof/model; name some of %s", name, strings.Join(files, ", "))
	}
	return fmt.Sprintf("no check is of %s itself: name the model that includes it, one of %s, or add checks of it to those of proof/cmd/model", name, strings.Join(files, ", "))
}

// parallel bounds the runs at one time: memory is what they need.
const parallel = 2

func main() {
	os.Exit(run())
}

func run() int {
	looked := flag.String("looked", "", "compared with the models named, and nothing is checked: `functions` of the code, separated by commas, such as Table.takeOne")
	flag.Parse()
	if *looked != "" {
		return look(*looked, flag.Args())
	}
	all := slices.Concat(checks, ringChecks, redisyncChecks)
	for _, name := range flag.Args() {
		if fault := unchecked(name, all); fault != "" {
			fmt.Fprintln(os.Stderr, "model:", fault)
			return 2
		}
	}
	for _, tool := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			fmt.Fprintf(os.Stderr, "model: %s is not installed; on Debian: apt-get install spin gcc\n", tool)
			return 3
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "tickgate-model-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "model:", err)
		return 1
	}
	defer os.RemoveAll(dir)

	checks := slices.DeleteFunc(all, func(c check) bool {
		return flag.NArg() > 0 && !slices.Contains(flag.Args(), c.file)
	})
	begin := time.Now()
	results := make([]result, len(checks))
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i, c := range checks {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i] = c.run(ctx, dir, i)
		})
	}
	wg.Wait()

	surprises := 0
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "configuration\tproperty\tstates\tdepth\tseconds\tverdict")
	for i, c := range checks {
		r := results[i]
		verdict, ok := r.verdict(c.bug)
		if !ok {
			surprises++
		}
		name := c.name
		if c.bug {
			name = "bug " + name
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.1f\t%s\n", name, c.says, r.states, r.depth, r.seconds, verdict)
	}
	w.Flush()
	fmt.Printf("%d runs in %.0f s, %d surprises\n", len(checks), time.Since(begin).Seconds(), surprises)
	if surprises > 0 {
		return 1
	}
	return 0
}
