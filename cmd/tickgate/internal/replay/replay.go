// Package replay drives a gate with recorded requests at their recorded times.
//
// The gate is asked with the time of each record, never with the time of the
// machine, so that a replay decides what would have been decided then, as
// often as it is run. The machine's clock only paces a replay that is asked to
// keep the recorded gaps, and measures it.
package replay

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/report"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/source"
)

// batch is how many requests are decided between two looks at the machine's
// clock: enough for its cost not to show in the time per decision.
const batch = 1024

// maxCosts bounds how many batches the median is taken over: 8 MB.
const maxCosts = 1 << 20

// Config says what to replay, and how. Gate, Now and, where Recorded is set,
// Sleep are required.
type Config struct {
	Files  []string // in the order to replay; "-" is Stdin
	Stdin  io.Reader
	Source source.Options
	// Gate makes the gate once the time of the first request is known.
	Gate func(first clock.Time) (*tickgate.Gate, error)
	// Through says how to ask the gate, nil: each request by its key and endpoint.
	Through func(*tickgate.Gate) Taker
	// Recorded keeps the recorded gaps between requests, as the machine's
	// clock measures them. A request that lies back in time follows at once.
	Recorded bool
	// Strict ends the replay at the first malformed line.
	Strict bool
	// Top is how many worst keys are listed per endpoint.
	Top int

	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
	// Fault is told of each malformed line, and of each empty file among
	// others; Progress, now and then, how many bytes and requests were done.
	// Both may be nil.
	Fault    func(error)
	Progress func(bytes, requests int64)
}

// Taker decides on one request. A gate is one.
type Taker interface {
	TakeAt(now clock.Time, key, endpoint string, cost int64) tickgate.Decision
}

// Result is what a replay found and how long its decisions took.
type Result struct {
	Report report.Report
	Timing Timing
}

// Timing is what the decisions of a run cost on this machine. Decisions are
// timed in batches. The first ones pay for memory that is touched for the
// first time, and any may be interrupted: the median batch says what a
// decision costs once running, the total what it did cost.
type Timing struct {
	Total  time.Duration // in the gate alone, over all requests
	Median float64       // ns per decision of the median batch
}

// ErrNothing is returned where no input held a single request.
var ErrNothing = errors.New("nothing was replayed: no input holds a valid request")

// Run replays. With an error other than one from Strict or ErrNothing, the
// result holds what was replayed before it; a cancelled ctx ends the replay
// with its error. The caller closes nothing: the gate is closed here.
func Run(ctx context.Context, cfg Config) (Result, error) {
	r := &run{cfg: cfg, collect: report.NewCollector(cfg.Top)}
	if r.cfg.Source.Names == nil {
		r.cfg.Source.Names = source.Names{}
	}
	err := r.files(ctx)
	res := r.result()
	if r.gate != nil {
		err = errors.Join(err, r.gate.Close())
	}
	if err == nil && r.collect.Requests() == 0 {
		err = ErrNothing
	}
	return res, err
}

// run is the state of one replay.
type run struct {
	cfg     Config
	gate    *tickgate.Gate
	taker   Taker
	collect *report.Collector
	inputs  []report.Input
	bytes   int64 // of the inputs before the current one

	records   [batch]source.Record
	decisions [batch]tickgate.Decision
	n         int

	first  int64     // time of the first request
	latest int64     // latest time so far
	began  time.Time // when the first request was decided
	spent  time.Duration
	costs  []float64 // ns per decision of each batch, the first maxCosts
}

func (r *run) files(ctx context.Context) error {
	for _, file := range r.cfg.Files {
		in, err := source.Open(file, r.cfg.Stdin, r.cfg.Source)
		if errors.Is(err, source.ErrEmpty) && len(r.cfg.Files) > 1 && !r.cfg.Strict {
			r.fault(err)
			continue
		}
		if err != nil {
			return err
		}
		err = r.file(ctx, in)
		in.Close() // only read from: an error would have shown there
		r.bytes += in.BytesRead()
		if err != nil {
			return err
		}
	}
	return nil
}

// file replays one input. What it counted is kept with an error too.
func (r *run) file(ctx context.Context, in *source.Reader) error {
	back := int64(0)
	defer func() {
		c := in.Counts()
		r.inputs = append(r.inputs, report.Input{
			File: in.Name(), Format: string(in.Format()), Lines: c.Lines, Requests: c.Requests,
			Skipped: c.Skipped, Malformed: c.Malformed, Backwards: back,
		})
	}()
	size := batch
	if r.cfg.Recorded {
		size = 1
	}
	for {
		rec := &r.records[r.n]
		err := in.Next(rec)
		var line *source.LineError
		switch {
		case err == nil:
			if r.gate == nil {
				if err := r.begin(rec.At); err != nil {
					return err
				}
			}
			if rec.At < r.latest {
				back++
			}
			r.latest = max(r.latest, rec.At)
			if r.n++; r.n < size {
				continue
			}
		case errors.As(err, &line):
			if r.cfg.Strict {
				return err
			}
			r.fault(err)
			continue
		}
		if flushed := r.decide(ctx); flushed != nil {
			return flushed
		}
		if r.cfg.Progress != nil {
			r.cfg.Progress(r.bytes+in.BytesRead(), r.collect.Requests())
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func (r *run) begin(first int64) (err error) {
	if r.gate, err = r.cfg.Gate(clock.Time(first)); err != nil {
		return err
	}
	r.taker = r.gate
	if r.cfg.Through != nil {
		r.taker = r.cfg.Through(r.gate)
	}
	r.first, r.latest = first, first
	r.began = r.cfg.Now()
	return nil
}

func (r *run) fault(err error) {
	if r.cfg.Fault != nil {
		r.cfg.Fault(err)
	}
}

// decide asks the gate for the records gathered and counts the decisions.
func (r *run) decide(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	records, decisions := r.records[:r.n], r.decisions[:r.n]
	r.n = 0
	if len(records) == 0 {
		return nil
	}
	if r.cfg.Recorded {
		due := r.began.Add(time.Duration(records[0].At - r.first))
		if wait := due.Sub(r.cfg.Now()); wait > 0 {
			if err := r.cfg.Sleep(ctx, wait); err != nil {
				return err
			}
		}
	}
	start := r.cfg.Now()
	for i := range records {
		rec := &records[i]
		decisions[i] = r.taker.TakeAt(clock.Time(rec.At), rec.Key, rec.Endpoint, rec.Cost)
	}
	took := r.cfg.Now().Sub(start)
	r.spent += took
	if len(r.costs) < maxCosts {
		r.costs = append(r.costs, float64(took)/float64(len(records)))
	}
	for i := range records {
		rec, d := &records[i], &decisions[i]
		r.collect.Add(report.Outcome{At: rec.At, Key: rec.Key, Endpoint: rec.Endpoint, Allowed: d.Allowed, Reason: d.Reason.String()})
	}
	return nil
}

func (r *run) result() Result {
	res := Result{Report: r.collect.Report(), Timing: Timing{Total: r.spent}}
	res.Report.Inputs = append(res.Report.Inputs, r.inputs...)
	if len(r.costs) > 0 {
		slices.Sort(r.costs)
		res.Timing.Median = r.costs[len(r.costs)/2]
	}
	if r.gate == nil {
		return res
	}
	stats := r.gate.Stats()
	res.Report.Gate = report.Gate{MaxKeys: int64(stats.Capacity), ForcedEvictions: int64(stats.Evictions.Forced)}
	for _, p := range r.gate.Policies() {
		row := report.Policy{Endpoint: p.Endpoint}
		for _, l := range p.Limits {
			row.Limits = append(row.Limits, l.String())
		}
		res.Report.Policies = append(res.Report.Policies, row)
	}
	return res
}
