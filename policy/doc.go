// Package policy describes rate limits as plain data: what may pass, how fast,
// and for which endpoint. It decides nothing and keeps no state.
//
//	Set ── one Policy per endpoint, "default" for every endpoint not named
//	 └ Policy ── Endpoint, Credit, Shadow and one to eight limits, all of which must pass
//	    └ Limit ── Name, Tokens per Per, Burst, Reserve, Window, Skew
//
// A limit is written as one line and always printed in one canonical form:
//
//	100/s                       100 tokens a second
//	100/10s                     100 tokens every ten seconds
//	6000/m burst=200            6000 a minute, at most 200 at once
//	5/s reserve=2               the last 2 of the 5 are for urgent calls alone
//	10/s rolling                never more than 10 in any second
//	300/10s aligned skew=50ms   windows of the wall clock, counted 50 ms longer
//	100/h name=hour             a limit with a name
//	unlimited, deny             everything passes, nothing passes
//
// Burst means the bucket's capacity (as in x/time/rate); left out, the capacity
// is the number of tokens.
//
// A Set is read from JSON with [ParsePolicies], from environment variables with
// [FromEnv], or built in Go. [Set.Validate] reports every fault at once, each a
// [*ConfigError] that names the place, the value and what to write instead.
//
// All values are safe for concurrent reading. The functions that change a set
// return a new one and leave their argument alone. Nothing is read from the
// environment at import; the package imports only the standard library.
package policy
