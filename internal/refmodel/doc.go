// Package refmodel is an exact model of rate limits, to test the fast ones
// against. It is as plain as can be: the tokens of a bucket are rational numbers
// of any size, windows keep what happened in them, nothing is rounded or wraps,
// and one mutex guards each key. It shares no code with what it is compared with,
// and is slow: some microseconds a call.
//
// # The model
//
// A limit knows how many of its tokens are used. A take of n passes if used + n
// does not exceed the capacity, less the reserve for calls that are not urgent, and
// then adds n to it; a denial and a look change nothing. What is used falls
//
//   - of a token bucket by tokens/per each nanosecond, down to 0;
//   - of an Aligned window to 0 where the next multiple of per begins on the wall
//     clock, and Skew later what was used before;
//   - of a FromFirst window to 0 when per and Skew have passed since its first
//     event; in the last 2·Skew of that nothing passes;
//   - of a Rolling window by each event when per and Skew have passed since it.
//
// All spans are half-open: they do not contain their end.
//
// [Bucket] is one limit of one key, [Multi] several limits of one key, [Gate] a
// map of keys by apikey and endpoint.
//
// # Time
//
// The time of a key is the latest that it was called with: a caller with an
// older time is served at that one, so its lateness brings no tokens, and its
// waits are longer by as much as it is late. With SetBack a caller that is
// [StepBack] or more behind is one whose clock was set back: from then on its
// times continue from where the key's stood.
//
// # Rates that are rounded
//
// A limiter that rounds a rate has another one in force. To compare decisions
// exactly, give the model the rate in force; to see what rounding cost, give it
// the rate that was asked for.
package refmodel
