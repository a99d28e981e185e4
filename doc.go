// Package tickgate is a rate limiter for trading paths: in memory, lock-free,
// exact, and decided in tens of nanoseconds.
//
// A [Gate] holds a limit, or several, for each pair of apikey and endpoint. The
// limits come from policies, one for an endpoint ([policy.Set]); an endpoint that
// has none takes the policy "default".
//
//	gate, err := tickgate.New(tickgate.Config{Policies: policies})
//	…
//	if !gate.Allow(apikey, "order.new") {
//		return errThrottled
//	}
//
// The ways in, from the most convenient to the fastest:
//
//   - [Gate.Allow] and [Gate.Take] take both names;
//   - [Gate.Endpoint] resolves the endpoint once;
//   - [Gate.Handle] resolves the key once and pins it;
//   - [Gate.TakeBatch] decides many requests at once and overlaps their cache misses.
//
// Each has a twin that takes the time from its caller, who has usually read the
// clock already: Allow is shorthand for TakeAt(clock now, …).Allowed.
//
// [Join] makes one decision over several keys, such as session, account and firm.
// A [Handle] also refunds, charges after the fact, waits, and is corrected by what a
// venue says. [Gate.Apply] changes limits and [Gate.Block] stops callers, live.
//
// Limits count in token buckets, in windows of the wall clock or from a first event,
// or in any span (rolling); package policy says how they are written. HTTP, gRPC,
// Prometheus and PostgreSQL have adapters; package redisync shares budgets among
// processes.
//
// # Guarantees
//
// In any span τ a limit of rate r and capacity C admits at most C + r·τ. Equal,
// stale or backward times mint nothing. Two keys never share a bucket, whatever
// their hashes. No decision takes a lock, allocates, or calls the system. Memory
// is fixed at [New]. A key that owes is not evicted while a full one could go.
// docs/guarantees.md has them all, with the argument, the limits and the tests of each.
//
// # Concurrency
//
// Everything here may be used by any number of goroutines at once.
package tickgate
