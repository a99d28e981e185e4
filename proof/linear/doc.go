// Package linear holds what concurrent callers of a gate saw against what one
// caller after another would have seen.
//
// The tests let goroutines take, look, give back, charge, ban and more on one key at
// once, under eviction pressure, while the policy changes, and record each call: its
// arguments, its answer, and what had returned before it began. A history is right if
// the calls can be put in one order, each between its begin and its end, in which a
// bucket that does one after the other gives the same answers ([spec]). Porcupine
// searches for that order. An answer tells the bucket's level to the nanosecond, so
// little is left to chance.
//
// Nothing in here is random about time: a clock that a goroutine moves by equal
// ticks is the gate's.
package linear
