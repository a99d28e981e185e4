package main

import "strings"

// check is one run of a model: a configuration in which the properties must hold,
// or a seeded bug that must be caught in it.
type check struct {
	name    string
	file    string
	defines string // space-separated, without -D
	says    string // what is checked, or what the bug is
	bug     bool
	cycles  bool // a run that never ends is looked for, rather than a wrong state
}

// macro is the name of a bug in its model, where it begins with BUG_: the check's
// name without the name of the model, and without what is said of the case.
func (c check) macro() string {
	name, _, _ := strings.Cut(c.name, ",")
	for _, model := range []string{"REFUND_", "CHANGE_", "SYNC_", "LEASE_"} {
		name = strings.TrimPrefix(name, model)
	}
	return "BUG_" + name
}

// The properties are assertions in the models: no key is admitted more than its
// limits allow in any span of times (bound); a slot that becomes visible was
// announced and holds the whole key, which is in no other slot (one place); no
// charge falls on another key's bucket (own bucket); nothing that a decision
// relied on is forgotten when a key is evicted as full (nothing forgotten); a
// pinned key stays (pinned). All of them are checked in every run of slot.pml.
// Those of a change stand in plans.pml; runs with BOUND_ONLY go on past the others
// until too much is admitted.
var checks = []check{
	{"one key", "slot.pml", "OPS1=2 OPS2=2 TRIES=2", "bound, one place, nothing forgotten", false, false},
	{"two keys", "slot.pml", "K2=3 OPS1=2 OPS2=2 TRIES=2", "own bucket, one place", false, false},
	{"two home groups", "slot.pml", "NG=2 K2=3 OPS1=2 OPS2=2 TRIES=2", "own bucket, one place", false, false},
	{"three inserts", "slot.pml", "K3=3 TRIES=0", "one place", false, false},
	{"pins", "slot.pml", "PINNING PIN2=1 OPS1=2", "pinned", false, false},
	{"pins, two closings", "slot.pml", "PINNING PIN2=1 TRIES=2", "pinned", false, false},
	{"forced drop", "slot.pml", "FORCE=1 OPS1=2 OPS2=2", "bound since the drop", false, false},
	{"seen lags", "slot.pml", "GRAIN=1 OPS1=2 OPS2=2", "bound", false, false},
	{"two evictors", "slot.pml", "TRIES2=1", "nothing forgotten", false, false},
	{"longer time", "slot.pml", "OPS1=2 TMAX=2", "bound", false, false},
	{"two limits", "slot.pml", "NW=2 CAP0=3 CAP1=2 COST1=1 OPS1=2", "bound of both limits, roll-back", false, false},
	{"two limits, slow one", "slot.pml", "NW=2 CAP0=2 OPS1=2 TRIES=2", "nothing forgotten of either", false, false},
	{"refunds", "refund.pml", "", "bound, nothing minted", false, false},
	{"refunds, seen lags", "refund.pml", "GRAIN=1", "bound, nothing minted", false, false},
	{"refund of a gate's take", "refund.pml", "KIND1=PLAIN GRAIN=1", "bound, nothing minted", false, false},
	{"refund, roll-back", "refund.pml", "KIND1=ROLL KIND2=REFUND KIND3=TAKE USED=1 N3=2", "bound, nothing minted", false, false},
	{"two roll-backs", "refund.pml", "KIND1=ROLL KIND2=ROLL KIND3=REFUND GRAIN=1", "bound, nothing minted", false, false},
	{"change of capacity", "change.pml", "CAP1=1 OPS1=2 OPS2=2 TMAX=1", "bound, one conversion", false, false},
	{"slower and back", "change.pml", "C1=2 C2=1", "what was used stays used", false, false},
	{"faster and slower", "change.pml", "C0=4 C1=1 C2=2 CAP1=3 OPS1=2 TMAX=1", "what was used stays used", false, false},
	{"faster, seen lags", "change.pml", "C0=4 C1=2 C2=1 CAP1=4 GRAIN=1", "what was used stays used", false, false},
	{"change, longer time", "change.pml", "GENS=2 C0=4 C1=1 CAP1=4 GRAIN=1 OPS1=2 TMAX=3", "bound, nothing refilled", false, false},
	{"change and a new key", "change.pml", "NEW C1=2 C2=4 OPS1=2", "every word converted", false, false},
	{"change and a refund", "change.pml", "CAP1=3 CAP2=1 KIND2=REFUND OPS1=2 TMAX=1", "bound, own units", false, false},
	{"rate and a refund", "change.pml", "C1=2 KIND2=REFUND GRAIN=1 TMAX=1", "bound, own units", false, false},
	{"change ends", "change.pml", "GENS=2 C1=2 NEW OPS1=2", "no run goes on for ever", false, true},
	{"change stalls", "change.pml", "FREEZE GENS=2 C1=2 OPS1=2", "takers finish all the same", false, false},
	{"change brings a limit", "bring.pml", "GENS=2 HAS1=3 C1=2 TMAX=1", "own units, starts full", false, false},
	{"brings one to a new key", "bring.pml", "GENS=2 HAS1=3 NEW OPS1=2 TMAX=1", "own units, starts full", false, false},
	{"takes one away and back", "bring.pml", "HAS0=3 HAS1=1 HAS2=3 C1=2 C2=4 TMAX=0", "own units, starts full", false, false},
	{"change of two limits", "bring.pml", "GENS=2 HAS0=3 C1=2 CAPB=1 TMAX=1", "bound of both limits, roll-back", false, false},

	{"PUBLISH_EARLY", "slot.pml", "", "the key is written after it was announced", true, false},
	{"NO_RECHECK", "slot.pml", "OPS1=2", "a take counts without a look at meta after it", true, false},
	{"NO_PRECHECK", "slot.pml", "K2=3 OPS1=2 CAP0=2", "no look at meta between load and swap", true, false},
	{"SAME_ORIGIN", "slot.pml", "PINNING PIN2=1 K2=3 OPS1=2", "words of two keys may be equal", true, false},
	{"KILL_WITHOUT_CLOSING", "slot.pml", "OPS1=2", "an evictor looks once and kills", true, false},
	{"DENY_NO_REOPEN", "slot.pml", "OPS1=2", "a denial leaves the slot closing", true, false},
	{"STALE_HELPER", "slot.pml", "K2=3 OPS1=2 OPS2=2 TRIES=2", "a helper publishes whatever is in the slot", true, false},
	{"NO_FLOOR", "slot.pml", "OPS1=2", "an insert is dated before the eviction", true, false},
	{"SAME_ROUND", "slot.pml", "OPS1=2 TRIES2=1", "closing does not count rounds", true, false},
	{"NO_VERSION", "slot.pml", "OPS1=2 OPS2=2 TRIES=2", "the header does not count changes", true, false},
	{"SAME_INCARNATION", "slot.pml", "K2=3 OPS1=2", "a slot that loses its key shows no other incarnation", true, false},
	{"REFUND_AFTER_REUSE", "slot.pml", "NW=2 CAP0=3 CAP1=2 COST1=1 K2=3 OPS1=2 TRIES=2", "a roll-back does not look whose the slot is", true, false},
	{"PIN_IGNORED", "slot.pml", "PINNING PIN2=1", "an evictor ignores pins", true, false},
	{"FIRST_WORD", "slot.pml", "NW=2 CAP0=2", "an evictor looks at the first limit only", true, false},
	{"REFUND_ALL", "refund.pml", "", "all is given back, whatever time refilled", true, false},
	{"REFUND_NO_R", "refund.pml", "", "earlier gifts are not counted", true, false},
	{"REFUND_STALE_P2", "refund.pml", "", "the latest taker is looked for before the word is loaded", true, false},
	{"REFUND_UNDO_UNSURE", "refund.pml", "", "an equal word is taken for an untouched one", true, false},
	{"REFUND_NO_LOCK", "refund.pml", "", "two gifts at a time", true, false},

	{"CHANGE_NO_PARITY", "change.pml", "BOUND_ONLY C1=4 OPS1=2", "words do not tell their generation", true, false},
	{"CHANGE_NO_WAIT", "change.pml", "BOUND_ONLY NEW C1=2 C2=4 OPS1=2 OPS2=2 TMAX=1", "the walk passes over private slots", true, false},
	{"CHANGE_EARLY_PLAN", "change.pml", "BOUND_ONLY NEW C1=2 C2=4 OPS1=2 OPS2=2 TMAX=1", "an inserter loads the plan before its claim", true, false},
	{"CHANGE_OVERLAP", "change.pml", "BOUND_ONLY C1=2 C2=4 OPS1=2", "the second change begins before the first walk is done", true, false},
	{"CHANGE_PLAN_FIRST", "change.pml", "BOUND_ONLY C1=4 OPS1=2 TMAX=1", "a taker loads the plan before the word", true, false},
	{"CHANGE_NO_GEN", "change.pml", "BOUND_ONLY KIND2=REFUND C0=4 C1=2 C2=1 OPS1=2 TMAX=1", "a refund goes by the parity alone", true, false},
	{"CHANGE_ONE_AXIS, capacity", "change.pml", "BOUND_ONLY CAP1=1", "words of two generations may be equal", true, false},
	{"CHANGE_ONE_AXIS, conversion", "change.pml", "C1=2", "the same: a conversion is undone", true, false},
	{"CHANGE_DATE_OF_PLAN, faster", "change.pml", "BOUND_ONLY GENS=2 C0=4 C1=1 CAP1=3 OPS1=2", "words are converted as of the beginning of Apply", true, false},
	{"CHANGE_DATE_OF_PLAN, slower", "change.pml", "C0=2 C1=4", "the same: more is used than was", true, false},
	{"CHANGE_OWN_TIME", "change.pml", "BOUND_ONLY GENS=2 C0=4 C1=1 CAP1=3 OPS1=2", "a taker converts as of its own time", true, false},
	{"CHANGE_NOT_AGAIN", "change.pml", "C0=4 C1=2 C2=1", "a denial does not look at the word again", true, false},
	{"CHANGE_NOT_AGAIN, two limits", "bring.pml", "GENS=2 HAS0=3 TMAX=1", "takeAll does not look at the plan again", true, false},
	{"CHANGE_NO_RELOAD", "change.pml", "GENS=2 C1=2", "the walk swaps what it loaded first", true, true},
	{"CHANGE_TAKER_WAITS", "change.pml", "FREEZE GENS=2 C1=2", "a taker waits for the conversion", true, false},
	{"CHANGE_NEXT_FIRST", "bring.pml", "GENS=2 HAS1=3 TMAX=1", "the next plan is published before the words are written", true, false},
	{"CHANGE_NO_PREPARE", "bring.pml", "GENS=2 HAS1=3 NEW TMAX=1", "inserters do not know of the words to come", true, false},
	{"CHANGE_NO_INIT", "bring.pml", "GENS=2 HAS1=3 NEW TMAX=1", "inserters do not write the words to come", true, false},
}
