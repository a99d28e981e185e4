// Package redisync shares the budgets of a gate among processes, through Redis.
//
//	gate, err := tickgate.New(tickgate.Config{Policies: set})
//	sync, err := redisync.New(ctx, redisync.Config{Gate: gate, URL: "redis://10.0.0.5"})
//	...
//	gate.Allow(apikey, endpoint) // as before; it never waits for Redis
//	...
//	err = sync.Close(ctx)
//
// Every policy is shared in one of three ways ([Mode]):
//
//	Credit   decides here and tells Redis afterwards. With N processes and a credit of b,
//	         at most (N−1)·b tokens of a key are admitted beyond the limit, in any span
//	         of time, whatever the delays. A process whose b tokens are not acknowledged
//	         denies until they are.
//	Lease    spends here what Redis granted before. Nothing is admitted beyond the limit.
//	Strict   asks Redis at each call, by [Sync.Take].
//
// # How credit works
//
// For each key that was used, a call carries the sum of all tokens that this process ever
// used of it, and Redis charges what it has not yet of that. So a call that is lost, late
// or sent twice needs no care: the next one is right. Redis answers with what is left,
// and the gate's bucket is set to that, less what was used since the call was sent.
//
// Nobody waits for this. The gate notes keys that were used in a bit each; a goroutine
// collects them every Interval, or at once where half of a credit is used, and sends
// them in batches of 16.
//
// # When Redis is away
//
// A budget of which nothing was heard for MaxAge, though it was used, is away. What then
// holds for policies on credit says the [Rule]; leases are spent until they end, and
// strict calls are denied, with an error. A lane, which is a Redis or a master of a
// cluster, that failed three times in a row is asked with single calls, a few times a
// second at random times, until it answers. When it does, it is charged with what it missed:
// what was used before in full, and of what was granted meanwhile as much as would not
// have been refilled, so that nothing counts twice.
//
// # Changes
//
// A change by [tickgate.Gate.Apply] needs no more: the newest policy among the processes
// is in force in Redis, what was used stays used, and a process that has an older one
// is told ([Stats].Behind) but goes on with its own.
//
// # What it relies on
//
// Redis, and any proxy before it, must answer each command once. One that sends more
// replies than it was asked for ends the process: the client that [Dial] uses takes
// that for a fault of its own and panics, where nothing can recover it.
package redisync
