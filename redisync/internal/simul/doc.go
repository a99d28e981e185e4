// Package simul plays the protocol of package redisync in one thread: nodes with real
// gates, a network that loses, delays and repeats calls and replies, and Redis as the
// script's rules have it, which may fall back to what a replica had or lose its data.
// Who acts next is drawn from a seed, or by a fuzzer. At the end every window of every
// key is held against the bound.
//
// Nodes are told what to do by the schedule, so there are none of the reconciler's
// heuristics here (when to send, how much to want): any choice must be sound.
package simul
