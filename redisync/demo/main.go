// Command demo has processes share one budget through Redis, and prints what each of them
// admits, second by second.
//
//	go run ./demo                              two processes, with a Redis that it starts itself
//	go run ./demo -redis redis://10.0.0.5      with yours
//	go run ./demo -processes 4 -limit 1000/s -credit 8 -mode lease
//
// Every process asks as often as it can for the same key. Their sum is what the limit
// says; how it is shared changes. Halfway through one of them ends, and the others have it all.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tickgate/tickgate/internal/redisserver"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
)

type options struct {
	url       string
	processes int
	limit     string
	credit    int64
	mode      string
	seconds   int
	node      bool
}

func main() {
	var o options
	flag.StringVar(&o.url, "redis", "", "URL of a Redis, such as redis://127.0.0.1:6379; without it, redis-server is started")
	flag.IntVar(&o.processes, "processes", 2, "processes, 1 to 16")
	flag.StringVar(&o.limit, "limit", "1000/s burst=100", "the limit that they share, a token bucket")
	flag.Int64Var(&o.credit, "credit", 8, "tokens that a process may use before the others know")
	flag.StringVar(&o.mode, "mode", "credit", "credit or lease")
	flag.IntVar(&o.seconds, "seconds", 8, "how long, 2 to 600")
	flag.BoolVar(&o.node, "node", false, "be one of the processes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func (o *options) run(ctx context.Context) error {
	var mode redisync.Mode
	var faults []error
	if err := mode.UnmarshalText([]byte(o.mode)); err != nil || mode != redisync.Credit && mode != redisync.Lease {
		faults = append(faults, fmt.Errorf("-mode %s: must be credit or lease", o.mode))
	}
	limit, err := policy.ParseLimit(o.limit)
	if err == nil && limit.Window != policy.TokenBucket {
		err = errors.New("must be a token bucket, such as 1000/s burst=100")
	}
	if err != nil {
		faults = append(faults, fmt.Errorf("-limit %s: %w", o.limit, err))
	}
	if o.credit < 1 || o.credit > 1<<20 {
		faults = append(faults, fmt.Errorf("-credit %d: must be 1 to %d", o.credit, 1<<20))
	}
	if o.processes < 1 || o.processes > 16 {
		faults = append(faults, fmt.Errorf("-processes %d: must be 1 to 16", o.processes))
	}
	if o.seconds < 2 || o.seconds > 600 {
		faults = append(faults, fmt.Errorf("-seconds %d: must be 2 to 600", o.seconds))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	if o.node {
		return node(ctx, o.url, limit, o.credit, mode)
	}
	if o.url == "" {
		url, stop, err := redisserver.Start(os.Stderr)
		if err != nil {
			return fmt.Errorf("%w; or give a Redis with -redis", err)
		}
		defer stop()
		o.url = url
	}
	return o.watch(ctx, limit)
}

// watch starts the processes, and prints a line each second.
func (o *options) watch(ctx context.Context, limit policy.Limit) error {
	lines := make(chan [2]int) // process, tokens in the last second
	var all []*exec.Cmd
	defer func() {
		for _, c := range all {
			_ = c.Process.Signal(syscall.SIGTERM)
			_ = c.Wait()
		}
	}()
	for i := range o.processes {
		c := exec.Command(os.Args[0], "-node", "-redis", o.url, "-limit", o.limit, "-credit", strconv.FormatInt(o.credit, 10), "-mode", o.mode)
		c.Stderr = os.Stderr
		out, err := c.StdoutPipe()
		if err != nil {
			return err
		}
		if err := c.Start(); err != nil {
			return err
		}
		all = append(all, c)
		go func() {
			for in := bufio.NewScanner(out); in.Scan(); {
				if n, err := strconv.Atoi(in.Text()); err == nil {
					lines <- [2]int{i, n}
				}
			}
		}()
	}
	fmt.Printf("%d processes share %s, on %s with b = %d\n\n", o.processes, limit, o.mode, o.credit)
	var head strings.Builder
	for i := range o.processes {
		fmt.Fprintf(&head, "%11s", "process "+strconv.Itoa(i+1))
	}
	fmt.Printf("second %s %11s\n", &head, "together")
	admitted := make([]int, o.processes)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for second := 1; second <= o.seconds; {
		select {
		case l := <-lines:
			admitted[l[0]] += l[1]
		case <-ctx.Done():
			return nil
		case <-tick.C:
			sum := 0
			fmt.Printf("%6d ", second)
			for i, n := range admitted {
				fmt.Printf("%11d", n)
				sum, admitted[i] = sum+n, 0
			}
			fmt.Printf(" %11d\n", sum)
			if second == o.seconds/2 && o.processes > 1 {
				fmt.Printf("       process %d ends\n", o.processes)
				_ = all[o.processes-1].Process.Signal(syscall.SIGTERM)
			}
			second++
		}
	}
	return nil
}
