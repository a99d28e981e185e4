// Command ordergateway shows how an order gateway is built on tickgate: several
// sessions send orders, replaces, cancels and queries to one venue as fast as its
// limits allow, and are never banned. The venue is simulated, and so is the network
// to it and the time; nothing is sent anywhere.
//
// Read it in this order:
//
//	gateway.go     the limits of the venue and of the house, and one decision for all
//	reply.go       what the venue's replies change: counts, bans, credits
//	trader.go      who sends what; cancels first
//	exchange.go    the simulated venue, which enforces the real rules
//	simulation.go  the loop that ties them together
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/policy/venue"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// config is what the flags say.
type config struct {
	preset           venue.Preset
	sessions         int
	accounts         int
	span             time.Duration
	seed             uint64
	naive            bool
	fastest, slowest time.Duration
	clockError       time.Duration
	perSession, firm policy.Limit
}

// jitter is what venue.Guard asks for: the spread of the delays, and the error of
// the clocks either way.
func (c *config) jitter() time.Duration { return c.slowest - c.fastest + 2*c.clockError }

// ahead is how far the gate's wall clock reads ahead of ours: a message counts at
// the venue at most that much later than we decide on it.
func (c *config) ahead() time.Duration { return c.slowest + c.clockError }

// connected says whether a session is one connection at the venue, on which nothing
// overtakes. Elsewhere each message is a request by itself.
func (c *config) connected() bool {
	for _, kind := range c.preset.Keys {
		if kind == "session" || kind == "connection" {
			return true
		}
	}
	return false
}

// run is the program. The status is 0 if it ran, 2 if the command line is wrong.
func run(args []string, stdout, stderr io.Writer) int {
	cfg, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintln(stderr, "ordergateway: "+line)
		}
		return 2
	}
	s, err := newSimulation(&cfg)
	if err != nil {
		fmt.Fprintln(stderr, "ordergateway:", err)
		return 2
	}
	s.run()
	if err := s.report(stdout); err != nil {
		fmt.Fprintln(stderr, "ordergateway:", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (c config, err error) {
	f := flag.NewFlagSet("ordergateway", flag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are printed once, by run
	name := f.String("venue", "binance-spot", "whose limits, a preset of policy/venue `name`")
	f.IntVar(&c.sessions, "sessions", 4, "how many sessions send, 1 to 64")
	f.IntVar(&c.accounts, "accounts", 0, "how many accounts they share, up to the number of sessions (default one for two sessions)")
	f.DurationVar(&c.span, "for", time.Minute, "how much time to simulate, 1s to 1h")
	f.Uint64Var(&c.seed, "seed", 1, "chooses delays, fills and lifetimes of orders; the same seed prints the same")
	f.BoolVar(&c.naive, "naive", false, "take the documented limits as they are: no guard, no reserve, no heed of replies")
	f.DurationVar(&c.fastest, "delay-min", time.Millisecond, "shortest way to the venue")
	f.DurationVar(&c.slowest, "delay-max", 15*time.Millisecond, "longest way to the venue")
	f.DurationVar(&c.clockError, "clock-error", 5*time.Millisecond, "how far the venue's clock may be off ours, either way")
	perSession := f.String("session-limit", "10000/s", "limit of the house on each session")
	firm := f.String("firm-limit", "50000/s", "limit of the house on all sessions together")
	f.Usage = func() {} // called for errors too, which say enough in one line
	help := func() {
		fmt.Fprint(stderr, "Usage: ordergateway [flags]\n\n"+
			"Sessions send to a simulated venue as fast as its limits allow. Prints what was sent and denied,\n"+
			"how much of each limit was used, and how often the venue refused a message or banned us.\n\nFlags:\n")
		f.SetOutput(stderr)
		f.PrintDefaults()
		fmt.Fprint(stderr, "\nExamples:\n\n  ordergateway\n  ordergateway -naive\n  ordergateway -venue cme-ilink -sessions 2 -for 5m\n\n"+
			"Venues: "+strings.Join(names(), ", ")+"\n")
	}
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			help()
			return c, err
		}
		return c, fmt.Errorf("%w; -help lists the flags", err)
	}
	var faults []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	bad(f.NArg() > 0, "unexpected argument %q; -help lists the flags", f.Arg(0))
	bad(c.sessions < 1 || c.sessions > 64, "-sessions %d: must be 1 to 64", c.sessions)
	bad(c.accounts < 0 || c.sessions >= 1 && c.accounts > c.sessions, "-accounts %d: must be 1 to the number of sessions, %d", c.accounts, c.sessions)
	if c.accounts == 0 {
		c.accounts = (c.sessions + 1) / 2
	}
	bad(c.span < time.Second || c.span > time.Hour, "-for %v: must be 1s to 1h", c.span)
	bad(c.fastest < 0 || c.slowest < c.fastest || c.slowest > time.Second, "-delay-min %v, -delay-max %v: must be 0 <= min <= max <= 1s", c.fastest, c.slowest)
	bad(c.clockError < 0 || c.clockError > time.Second, "-clock-error %v: must be 0 to 1s", c.clockError)
	for _, l := range []struct {
		flag, text string
		to         *policy.Limit
	}{{"-session-limit", *perSession, &c.perSession}, {"-firm-limit", *firm, &c.firm}} {
		if *l.to, err = policy.ParseLimit(l.text); err != nil {
			faults = append(faults, fmt.Errorf("%s %s: %w", l.flag, l.text, err))
		}
	}
	if c.preset, err = venue.Lookup(*name); err != nil {
		faults = append(faults, fmt.Errorf("-venue %s: not a venue that takes orders; write one of %s", *name, strings.Join(names(), ", ")))
	} else if _, takesOrders := c.preset.Message(classNew); !takesOrders {
		faults = append(faults, fmt.Errorf("-venue %s: takes no orders; write one of %s", *name, strings.Join(names(), ", ")))
	}
	return c, errors.Join(faults...)
}

// names are the presets that take orders.
func names() (list []string) {
	for _, p := range venue.All() {
		if _, takesOrders := p.Message(classNew); takesOrders {
			list = append(list, p.Name)
		}
	}
	return list
}
