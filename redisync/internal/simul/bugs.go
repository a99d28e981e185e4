package simul

// bugs is a rule that is broken on purpose: the checks must notice.
type bugs int

const (
	none bugs = iota

	// On credit.
	deltas     // calls carry what is new, and are sent again
	clear      // what was told is settled before it is answered
	overwrite  // the level told replaces what was used since
	flight     // refill is credited for the flight
	lateReply  // the reply to a call that was given up is taken for the next one's
	sameEpoch  // a new record counts from 0 in the same epoch
	forgetSoon // a record is forgotten while a call of it is unknown
	sameName   // a process that starts again has the name it had
	fromBase   // Redis charges what is beyond the total that the node says was acknowledged
	oldEpoch   // the same, where it knows the node by an earlier epoch only

	// On both.
	noStale // a late call of an earlier epoch counts

	// On a lease.
	noMargin   // Redis holds a lease no longer than the node's clock may say
	fromReply  // a lease counts from the reply
	keepLeft   // a node keeps what was written off
	newsFirst  // refill counts what is spent as spent at the time of the last call
	sweepFirst // a lease that ended counts as spent before its end
	returnAll  // what was written off is given back
	noLearn    // a key that is lost is made anew as a full one
	noWait     // it refills at once
	revive     // a lease that Redis does not know is taken for a good one
)
