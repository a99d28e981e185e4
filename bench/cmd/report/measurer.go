package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// measurer runs a plan within its time.
type measurer struct {
	plan     plan
	start    time.Time
	budget   time.Duration
	raw      *raw
	programs programs
	now      func() time.Time
	progress io.Writer

	took map[string]time.Duration // by the name of a job, the longest so far
}

// run measures the memory and then the rounds. The first round is always run; a
// further one only when as long as the longest of its jobs took would still be
// within the budget.
func (m *measurer) run(ctx context.Context) error {
	m.took = map[string]time.Duration{}
	for _, lib := range m.plan.memoryLibs {
		m.say("memory of %s", lib)
		out, err := m.programs.memory(ctx, lib, m.plan.memoryKeys)
		if err != nil {
			return fmt.Errorf("memory of %s: %w", lib, stopped(ctx, err))
		}
		if err := m.raw.add("memory", out); err != nil {
			return err
		}
	}
	done := 0
	for r := 1; r <= m.plan.rounds; r++ {
		if left := m.budget - m.now().Sub(m.start); r > 1 && m.expected(r) > left {
			m.say("%s are left and a round takes %s: no further round", left.Round(time.Second), m.expected(r).Round(time.Second))
			break
		}
		if err := m.round(ctx, r); err != nil {
			return err
		}
		done = r
	}
	return m.raw.finish(done, m.plan.rounds, m.now().Sub(m.start))
}

// round runs the jobs of round number r.
func (m *measurer) round(ctx context.Context, r int) error {
	for _, j := range m.plan.jobs(r) {
		m.say("round %d of %d: %s", r, m.plan.rounds, j.name)
		before := m.now()
		out, err := m.programs.bench(ctx, j)
		if err != nil {
			return fmt.Errorf("%s: %w", j.name, stopped(ctx, err))
		}
		m.took[j.name] = max(m.took[j.name], m.now().Sub(before))
		if err := m.raw.add(fmt.Sprintf("round-%02d", r), out); err != nil {
			return err
		}
	}
	return nil
}

// expected is how long round number r will take, with a twentieth more.
func (m *measurer) expected(r int) time.Duration {
	var sum time.Duration
	for _, j := range m.plan.jobs(r) {
		sum += m.took[j.name]
	}
	return sum + sum/20
}

func (m *measurer) say(format string, args ...any) {
	fmt.Fprintf(m.progress, "%5s  %s\n", m.now().Sub(m.start).Round(time.Second), fmt.Sprintf(format, args...))
}

// stopped is why the context ended, where it did, and otherwise err.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	return err
}
