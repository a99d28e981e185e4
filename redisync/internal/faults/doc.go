// Package faults is the harness that redisync is tried with: real redis-server
// processes, real connections that lose, delay and hold messages, nodes that are
// killed and stopped, and package admitted, which says by how much the nodes together
// exceeded the limit.
//
//	Link      the way of one node to its Redis; understands the protocol well
//	          enough to lose whole requests and whole replies
//	Log       every admission of one node as (key, before, after, n), in memory
//	          that outlives the node's death
//	Node      a gate and its reconciler, as goroutines or as a process of their own
//	Scenario  one row of the table of faults: what is done, and what must hold
//	Startup   a Redis that cannot be used, and what New must say of it
//	Measure   times, rates and sizes, which are printed and not asserted
//
// Tests play each row for a second or two, alone, and some in clusters; the command
// faults plays all of them, as long as it is told to.
//
// It needs Linux: SIGSTOP, shared memory, and one monotonic clock for all processes.
package faults
