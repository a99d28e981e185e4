package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// series is one server: what it sends, and a sample of every round.
type series struct {
	kind    string
	sent    string // what one answer is
	samples []sample
}

// compare starts the servers, loads one after the other in rounds, and prints the
// table.
func compare(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	dir, err := os.MkdirTemp("", "load")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	w, err := newWrk(dir, o.connections, o.callers)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(strings.Split(o.servers, ","), isTake) && o.tickgate == "" {
		if o.tickgate, err = buildTickgate(ctx, dir); err != nil {
			return err
		}
	}
	var servers []*child
	var all []series
	for _, kind := range strings.Split(o.servers, ",") {
		c, err := start(ctx, o, kind, stderr)
		if err != nil {
			return err
		}
		defer c.end()
		servers, all = append(servers, c), append(all, series{kind: kind})
	}
	for i, c := range servers { // also uses up the quotas of deny
		if _, err := w.run(ctx, c, time.Second); err != nil {
			return err
		}
		if all[i].sent, err = describe(ctx, c); err != nil {
			return err
		}
	}
	for round := range o.rounds {
		for turn := range servers {
			i := (round + turn) % len(servers) // every server begins a round in its turn
			s, err := w.run(ctx, servers[i], o.round)
			if err != nil {
				return err
			}
			if err := check(servers[i].kind, &s); err != nil {
				return err
			}
			fmt.Fprintf(stderr, "round %d of %d: %-12s %8.0f requests/s\n", round+1, o.rounds, servers[i].kind, s.perSecond())
			all[i].samples = append(all[i].samples, s)
		}
	}
	fmt.Fprintf(stdout, "%s, GOMAXPROCS %d of %d, wrk with 1 thread and %d connections on the same processors,\n"+
		"%d callers, %d rounds of %s for each server, the servers in turn; medians\n\n",
		runtime.Version(), runtime.GOMAXPROCS(0), runtime.NumCPU(), o.connections, o.callers, o.rounds, o.round)
	missed := write(stdout, all)
	if missed > 0 && o.strict {
		return fmt.Errorf("%d of the targets were missed", missed)
	}
	return nil
}

// check tells whether a server did in its turn what it is there for.
func check(kind string, s *sample) error {
	share := float64(s.refused) / float64(s.requests)
	switch refuses := strings.Contains(kind, "deny"); {
	case s.failed > 0:
		return fmt.Errorf("%s: %d requests failed: the figures say nothing", kind, s.failed)
	case refuses && share < 0.99:
		return fmt.Errorf("%s refused only %.1f %% of the requests: take fewer -callers, so that the warm-up uses up every quota", kind, 100*share)
	case !refuses && s.refused > 0:
		return fmt.Errorf("%s refused %d requests and should none", kind, s.refused)
	}
	return nil
}

// request is what a server is asked, for the first caller.
func request(ctx context.Context, c *child) (*http.Request, error) {
	if strings.HasPrefix(c.kind, take) {
		return takeRequest(ctx, c)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+queryPath, http.NoBody)
	if err == nil {
		r.Header.Set("Authorization", "Bearer "+caller(0))
	}
	return r, err
}

// describe asks a server once and says what it sent.
func describe(ctx context.Context, c *child) (string, error) {
	r, err := request(ctx, c)
	if err != nil {
		return "", err
	}
	r.Close = true
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%d, %s of %d bytes", res.StatusCode, res.Header.Get("Content-Type"), len(body))
	for _, name := range []string{"RateLimit-Policy", "RateLimit", "Retry-After", "Cache-Control"} {
		if v := res.Header.Get(name); v != "" {
			text += fmt.Sprintf(", %s: %s", name, v)
		}
	}
	return text, nil
}
