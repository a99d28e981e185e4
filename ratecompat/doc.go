// Package ratecompat is a limiter with the method set of golang.org/x/time/rate,
// over the arithmetic of package bucket. A program changes one line:
//
//	import rate "github.com/tickgate/tickgate/ratecompat"
//
// For times that go forward it decides as x/time/rate does. What it does
// differently is listed in docs/migrating.md; the chief points are that stale times
// mint no tokens, that negative n takes nothing, that Cancel gives back exactly
// what was reserved, that tokens are integers and never drift, and that Wait is
// first come, first served, and follows a change of the limit.
//
// # How it works
//
// A [Limiter] is one atomic word, the position at which its bucket is full again
// (package bucket), and an atomic pointer to the terms in force: rate, burst, and
// what belongs to them. Allow and Reserve swap the word; nothing they do takes a
// lock, and a denial swaps nothing.
//
//	       terms ───▶ generation 7 ── prev ──▶ generation 6
//	                       ▲                        ▲
//	word: parity 1 ────────┘      parity 0 ─────────┘
//
// SetLimit, SetBurst and most cancels make another generation of the terms. They
// publish it, and then swap the word for one that carries the new parity. Whoever
// reads the word finds in its parity under which of the two generations it is to
// be read. So a change takes place in one instant, that of its swap: whatever was
// taken before is in the old word, and whatever comes later meets the new one. A
// taker with a stale word fails its swap, since the words of two generations are
// never the same number (bucket.Origin).
//
// A reservation remembers its mark, the word after it, and the mark's generation.
// To cancel it the mark is brought through all generations since, which are noted
// as steps, and so is exact however many other reservations were made, cancelled
// or re-timed in between. Waiters are reservations in a queue.
//
// Changes, cancels and the queue of waiters are kept apart by a mutex.
package ratecompat
