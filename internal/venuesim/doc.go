// Package venuesim is the other side of the wire: what an exchange enforces,
// exactly, and what it does to those who break its rules. It judges the limiter
// and shares no code with it; of the module it imports policy alone, for the
// data of limits.
//
//	sender ── Send ──▶ Wire ── Deliver ──▶ Venue ── Reply
//	         our time   random delay,       its own time: rules by message
//	                    its clock's offset  class, refusals, bans, volume
//
// A [Venue] counts messages by [Rule]s: fixed windows on its clock, windows that
// open with their first message, rolling windows with the exact list of events,
// token buckets and decaying counters in exact integers. A message passes only
// if all rules of its class let it pass. A refusal is recorded as a [Breach];
// the [Ladder] of a rule says when refusals, or tries above a hard limit, end in
// a [Ban]. [Volume] tells how much was accepted and how much could have been.
//
// All spans are half-open: an event at exactly t−Per is out of the rolling
// window that ends at t, and a window [start, start+Per) is over at start+Per.
//
// Time is int64 nanoseconds of the venue's own clock, given by the caller, and
// lies within ±2^62. Nothing reads a clock, nothing is random but for a seed,
// and the same calls always give the same answers. Nothing in this package is
// safe for concurrent use.
//
// Data that a test wrote wrongly is an error of the constructor. A wrong call
// (a cost below zero, costs for too many rules, time that was already delivered)
// panics with one line that says what to do: a judge must not guess.
package venuesim
