// Package fleet plays many nodes of redisync in one process and in virtual time: gates
// and Syncs as they ship, through their public interface, with a model of Redis behind a
// network that takes time. So a thousand nodes can be looked at on a machine of two cores.
//
//	driver ──Allow──▶ gate ◀──Ledger── Sync ──Transport──▶ link ──200 µs──▶ server
//	   │ every 200 µs                                                   15 µs a call, one at a time
//	   └─▶ meter: what was admitted against the limit, exactly
//
// Time is that of a bubble of [testing/synctest], which goes on when every goroutine waits.
// What is played depends on nothing but the [Scene]: no two nodes ever act at one instant
// (see grid), so the order in which the runtime has goroutines run does not matter.
//
// The model of the server is the script's credit call and heartbeat, checked against the
// script on a real server. Not modelled: leases and strict calls, lost single calls (package
// faults does these with real servers), processors that are busy otherwise, and clocks
// that run at unlike speeds.
package fleet
