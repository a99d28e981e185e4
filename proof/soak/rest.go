package main

import (
	"fmt"
	"time"

	"github.com/tickgate/tickgate"
)

// atRest checks, when nobody calls any more, what the gates know against what the
// callers do. passed is how many seconds refilled at most.
func (w *world) atRest(passed float64) {
	w.clock.freeze()
	w.settleAll()
	rolledBack := most * float64(w.gate.Stats().RollbacksLost)
	for e, all := range w.books {
		for i, b := range all {
			used := w.used(w.gate, key(e, i), e)
			if err := b.holds(used, passed, rolledBack); err != nil {
				w.add("%s: %v", key(e, i), err)
			}
		}
	}
	for k := range w.common.kept {
		kept, taken, told := w.common.kept[k].Load(), w.common.taken[k].Load(), w.common.told(commonKey(k))
		if told < kept || told > taken {
			w.add("%s: %d tokens were kept of %d that were taken, and the account was told of %d", commonKey(k), kept, taken, told)
		}
		for _, g := range w.common.gates {
			if used := w.used(g, commonKey(k), common); float64(used) < float64(kept)-passed-1 {
				w.add("%s: %d tokens are used in a gate, of %d that were kept", commonKey(k), used, kept)
			}
		}
	}
	w.counters()
	w.table()
}

// settleAll tells the account what it was not told yet.
func (w *world) settleAll() {
	open := w.common.open
	for range 10 {
		w.common.settle(open, func() bool { return false })
	}
	for i := range open {
		if len(open[i]) > 0 {
			w.add("%d accounts of gate %d could not be settled at rest", len(open[i]), i)
		}
	}
}

// used is how many tokens of a key are used, rounded up.
func (w *world) used(g *tickgate.Gate, apikey, endpoint string) int64 {
	for _, q := range g.Usage(apikey) {
		if q.Endpoint == endpoint {
			return q.Limits[0].Used
		}
	}
	return 0
}

// counters checks that every decision was counted once.
func (w *world) counters() {
	for _, p := range w.gate.Stats().Policies {
		calls, ok := w.counts[p.Endpoint]
		if !ok {
			continue
		}
		w.decided.Add(calls.Load())
		if got := int64(p.Allowed + p.Denied); got != calls.Load() {
			w.add("%s: %d decisions were counted, %d made", p.Endpoint, got, calls.Load())
		}
	}
}

// table checks that every key is in the table once, and that the gate's counts are
// those of its slots.
func (w *world) table() {
	seen := make(map[string]struct{}, w.gate.Stats().Size)
	keys := 0
	w.gate.EachUsage(func(q *tickgate.Quota) bool {
		keys++
		name := q.Endpoint + "\x00" + q.APIKey
		if _, twice := seen[name]; twice {
			w.add("%s at %s is in the table twice", q.APIKey, q.Endpoint)
		}
		seen[name] = struct{}{}
		return true
	})
	if size := w.gate.Stats().Size; size != keys {
		w.add("%d keys are counted, %d are there", size, keys)
	}
}

// rows is the report of a run.
func (w *world) rows(v *watch) []row {
	s := w.gate.Stats()
	var closest float64
	var admitted, denied int64
	for _, j := range w.judges {
		closest = max(closest, j.closest)
		admitted, denied = admitted+j.admitted, denied+j.denied
	}
	kept := int64(0)
	for _, all := range w.books {
		for _, b := range all {
			kept += b.kept
		}
	}
	line := func(what, must, format string, args ...any) row { return row{what, fmt.Sprintf(format, args...), must} }
	rows := []row{
		line("run", "", "%v, %d keys, table for %d", time.Since(v.began).Round(time.Second), w.keys, s.Capacity),
		line("decisions", "each counted once", "%d, %.0f %% of them hits", w.decided.Load(), 100*s.HitRate),
		line("evictions", "forced only after the clock was set back", "%d, and %d forced", s.Evictions.Idle, s.Evictions.Forced),
		line("Apply, clock jumps", "", "%d, %d of which %d back", w.applies.Load(), w.jumps.Load(), w.back.Load()),
		line("judged keys", "never above capacity + rate × time", "%d admitted, %d denied, at most %.0f %% used", admitted, denied, 100*closest),
		line("waits", "likewise", "%d served, %d gave up; timers were late by %v at most", w.waits.Load(), w.gaveUp.Load(), time.Duration(w.late.Load()).Round(time.Millisecond)),
		line("takes by groups, refunds", "levels at rest are what was kept", "%d, %d; %d tokens kept, %d roll-backs lost", w.groups.Load(), w.refunds.Load(), kept, w.gate.Stats().RollbacksLost),
		line("blocks, bans", "hold when they return", "%d, %d", w.blocks.Load(), w.bans.Load()),
		line("shared budgets", "account = what was kept", "%d settlements of 2 gates", w.common.settled.Load()),
		w.fleet.row(),
		line("goroutines", "none left", "%d before, %d at most, %d after", v.before, v.most, v.end),
	}
	if len(v.rss) > 1 {
		grown, allowed := v.flat()
		_, mean := v.slope()
		rows = append(rows, line("memory", "grows by "+mib(allowed)+" at most", "%s; slope over the second half: %s", mib(mean), mib(grown)))
	}
	return rows
}
