// Package bucket is the arithmetic of one limit in one 64-bit word.
//
// # The axis
//
// A limit of Tokens per Per is reduced to q/c in lowest terms: in every
// nanosecond the position of now moves on by q, and one token costs c. Both are
// integers, so nothing is rounded and nothing accumulates: the position of a
// time t is simply t·q, computed afresh at every call.
//
//	rate     q   c
//	100/h    1   36_000_000_000
//	7/s      7   1_000_000_000
//	700/min  7   600_000_000
//	2e9/s    2   1
//
// The word holds F, the position at which the bucket will be full again. What
// is used at position P is max(0, F−P). To take n: B = max(F, P), F' = B + n·c,
// allowed if F'−P ≤ C·c, where C is the capacity. A denial writes nothing.
//
// # The word
//
//	 63                                              1   0
//	┌──────────────────────────────────────────────┬────────┐
//	│ F, modulo 2^63                               │ parity │
//	└──────────────────────────────────────────────┴────────┘
//
// F is kept doubled, so that the parity costs no shift; every constant of a
// [Limit] is doubled with it. The parity says under which of two generations of
// a limit the word was written (see [Limit.Convert]): a taker that meets the
// other parity converts the word inside its own compare-and-swap.
//
// # Wrapping
//
// Positions wrap, and only differences are ever looked at, as signed numbers.
// They are right as long as F is within 2^63 half-units of P: ahead of now F is
// held below [maxAhead] (a capacity refills within a year, debt saturates), behind
// now it is held by re-basing the word whenever its key's time enters another era
// of 73 minutes ([SameEra], [Limit.Rebase]). Uptime does not enter at all.
//
// The functions of this package are pure: who loads and swaps the word, and in
// which order, is the business of package shard. They cost a few nanoseconds,
// allocate nothing and are safe for concurrent use.
package bucket
