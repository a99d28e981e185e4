package main

// check is one run of a model: a configuration in which the properties must hold,
// or a seeded bug that must be caught in it.
type check struct {
	name    string
	file    string
	defines string // space-separated, without -D
	says    string // what is checked, or what the bug is
	bug     bool
}

// The properties are assertions in the models: no key is admitted more than its
// limits allow in any span of times (bound); a slot that becomes visible was
// announced and holds the whole key, which is in no other slot (one place); no
// charge falls on another key's bucket (own bucket); nothing that a decision
// relied on is forgotten when a key is evicted as full (nothing forgotten); a
// pinned key stays (pinned). All of them are checked in every run.
var checks = []check{
	{"one key", "slot.pml", "OPS1=2 OPS2=2 TRIES=2", "bound, one place, nothing forgotten", false},
	{"two keys", "slot.pml", "K2=3 OPS1=2 OPS2=2 TRIES=2", "own bucket, one place", false},
	{"two home groups", "slot.pml", "NG=2 K2=3 OPS1=2 OPS2=2 TRIES=2", "own bucket, one place", false},
	{"three inserts", "slot.pml", "K3=3 TRIES=0", "one place", false},
	{"pins", "slot.pml", "PINNING PIN2=1 OPS1=2", "pinned", false},
	{"pins, two closings", "slot.pml", "PINNING PIN2=1 TRIES=2", "pinned", false},
	{"forced drop", "slot.pml", "FORCE=1 OPS1=2 OPS2=2", "bound since the drop", false},
	{"seen lags", "slot.pml", "GRAIN=1 OPS1=2 OPS2=2", "bound", false},
	{"two evictors", "slot.pml", "TRIES2=1", "nothing forgotten", false},
	{"longer time", "slot.pml", "OPS1=2 TMAX=2", "bound", false},
	{"two limits", "slot.pml", "NW=2 CAP0=3 CAP1=2 COST1=1 OPS1=2", "bound of both limits, roll-back", false},
	{"two limits, slow one", "slot.pml", "NW=2 CAP0=2 OPS1=2 TRIES=2", "nothing forgotten of either", false},
	{"refunds", "refund.pml", "", "bound, nothing minted", false},
	{"refunds, seen lags", "refund.pml", "GRAIN=1", "bound, nothing minted", false},
	{"refund of a gate's take", "refund.pml", "KIND1=PLAIN GRAIN=1", "bound, nothing minted", false},
	{"refund, roll-back", "refund.pml", "KIND1=ROLL KIND2=REFUND KIND3=TAKE USED=1 N3=2", "bound, nothing minted", false},
	{"two roll-backs", "refund.pml", "KIND1=ROLL KIND2=ROLL KIND3=REFUND GRAIN=1", "bound, nothing minted", false},

	{"PUBLISH_EARLY", "slot.pml", "", "the key is written after it was announced", true},
	{"NO_RECHECK", "slot.pml", "OPS1=2", "a take counts without a look at meta after it", true},
	{"NO_PRECHECK", "slot.pml", "K2=3 OPS1=2 CAP0=2", "no look at meta between load and swap", true},
	{"SAME_ORIGIN", "slot.pml", "PINNING PIN2=1 K2=3 OPS1=2", "words of two keys may be equal", true},
	{"KILL_WITHOUT_CLOSING", "slot.pml", "OPS1=2", "an evictor looks once and kills", true},
	{"DENY_NO_REOPEN", "slot.pml", "OPS1=2", "a denial leaves the slot closing", true},
	{"STALE_HELPER", "slot.pml", "K2=3 OPS1=2 OPS2=2 TRIES=2", "a helper publishes whatever is in the slot", true},
	{"NO_FLOOR", "slot.pml", "OPS1=2", "an insert is dated before the eviction", true},
	{"SAME_ROUND", "slot.pml", "OPS1=2 TRIES2=1", "closing does not count rounds", true},
	{"NO_VERSION", "slot.pml", "OPS1=2 OPS2=2 TRIES=2", "the header does not count changes", true},
	{"PIN_IGNORED", "slot.pml", "PINNING PIN2=1", "an evictor ignores pins", true},
	{"FIRST_WORD", "slot.pml", "NW=2 CAP0=2", "an evictor looks at the first limit only", true},
	{"REFUND_ALL", "refund.pml", "", "all is given back, whatever time refilled", true},
	{"REFUND_NO_R", "refund.pml", "", "earlier gifts are not counted", true},
	{"REFUND_STALE_P2", "refund.pml", "", "the latest taker is looked for before the word is loaded", true},
	{"REFUND_UNDO_UNSURE", "refund.pml", "", "an equal word is taken for an untouched one", true},
	{"REFUND_NO_LOCK", "refund.pml", "", "two gifts at a time", true},
}
