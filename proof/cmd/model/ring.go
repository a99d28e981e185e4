package main

// ringChecks are those of a rolling limit, whose properties are assertions in
// ringstate.pml: of the tokens that were not given back, no more than N pass in any
// span (bound); a call is denied only if, at some moment of it, what counted left no
// room for it, or the ring had none (denials); what a decision reads in the ring are
// the dates of its own key's tokens, and voids that its gifts made, and a gift marks
// tokens that are no older than its own, in their entry (own entries); from one round
// of the ring to the next, times never go back; and a key that is evicted owes
// nothing.
var ringChecks = []check{
	{"rolling", "ring.pml", "N1=2 OPS1=3 SPAN=1 TMAX=3", "bound, denials, own entries", false, false},
	{"rolling, longer span", "ring.pml", "OPS1=3 OPS2=2 SPAN=2 TMAX=4", "bound, denials, own entries", false, false},
	{"rolling, three callers", "ring.pml", "USED=2 OPS1=1 OPS2=1 N3=1 OPS3=2 KIND3=TAKE SPAN=1 TMAX=2", "bound, denials, own entries", false, false},
	{"rolling, refunds", "ring.pml", "KIND1=REFUND KIND2=REFUND SPAN=1 TMAX=2", "bound, denials, own entries", false, false},
	{"rolling, ring without spare", "ring.pml", "R=2 KIND1=REFUND SPAN=1 TMAX=2", "bound, denials, own entries", false, false},
	{"rolling, evictions", "ring.pml", "R=2 OPS2=1 SPAN=1 TMAX=2 TRIES=2", "bound, own entries, owes nothing", false, false},
	{"rolling, eviction and roll-back", "ring.pml", "OPS2=1 KIND1=ROLL SPAN=1 TMAX=2 TRIES=1", "bound, own entries, owes nothing", false, false},
	{"rolling, eviction and refund", "ring.pml", "OPS1=1 KIND1=REFUND SPAN=1 TMAX=2 TRIES=1", "bound, own entries, owes nothing", false, false},
	{"rolling, forced drop", "ring.pml", "N2=1 OPS2=1 KIND1=ROLL SPAN=2 TMAX=2 FORCED=1", "bound since the drop, own entries", false, false},
	{"rolling, shared entries", "ring.pml", "G=1 R=2 N2=1 KIND1=REFUND KIND2=REFUND SPAN=1 TMAX=2", "bound, denials, own entries", false, false},
	{"rolling, shared entries, eviction", "ring.pml", "G=1 N=4 N2=3 OPS1=1 KIND1=ROLL SPAN=1 TMAX=1 TRIES=1", "bound, own entries, owes nothing", false, false},
	{"rolling ends", "ring.pml", "OPS2=1 KIND1=ROLL SPAN=1 TMAX=1 TRIES=1", "no run goes on for ever", false, true},

	{"RING_NO_LOOK", "ring.pml", "BOUND_ONLY N1=2 OPS1=3 SPAN=1 TMAX=3", "an entry is dated without a look at the word again", true, false},
	{"RING_NO_OWNER", "ring.pml", "BOUND_ONLY SPAN=1 TMAX=1 TRIES=1", "the base does not tell whose it is", true, false},
	{"RING_NOT_OPENED", "ring.pml", "OPS2=1 SPAN=1 TMAX=1 TRIES=1", "a new key leaves the base as it is", true, true},
	{"RING_EARLY", "ring.pml", "BOUND_ONLY SPAN=1 TMAX=1", "a take does not wait for the one before to be complete", true, false},
	{"RING_TELL_FIRST", "ring.pml", "BOUND_ONLY KIND1=REFUND SPAN=1 TMAX=1", "the base tells of a void first, and is trusted", true, false},
	{"RING_OTHER_LAP", "ring.pml", "KIND1=REFUND KIND2=REFUND SPAN=1 TMAX=2", "a gift marks an entry of the next round", true, false},
	{"RING_NO_ROOM", "ring.pml", "BOUND_ONLY R=2 KIND1=REFUND SPAN=1 TMAX=2", "given back tokens push out others", true, false},
	{"RING_NOT_AGAIN", "ring.pml", "USED=2 OPS1=1 OPS2=1 N3=1 OPS3=2 KIND3=TAKE SPAN=1 TMAX=2", "a denial does not look at the word again", true, false},
	{"RING_SAME_TIME", "ring.pml", "N1=2 N2=1 SPAN=1 TMAX=1 FORCED=1", "a key that owes is dropped, and the next begins at the same time", true, false},
}
