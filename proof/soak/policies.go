package main

import (
	"time"

	"github.com/tickgate/tickgate/policy"
)

// The endpoints. What a key of each may do at most stands in the most generous set.
const (
	churn   = "churn"   // a million keys that come and go
	watched = "watched" // keys whose every admission is judged
	waited  = "waited"  // keys that callers wait for
	session = "session" // of groups, and of handles that give back: their books are kept
	account = "account"
	firm    = "firm"
	common  = "common" // a budget that two gates share
)

const (
	watchedTokens, watchedBurst = 20, 20 // a second, at most
	waitedTokens, waitedBurst   = 50, 5

	bookBurst = 25_000_000 // hardly refilled: a token a second
	bookLess  = 20_000_000

	commonBurst = 20_000_000
	credit      = 100
)

func limits(l ...policy.Limit) []policy.Limit { return l }

// sets are the policies that Apply brings in turn.
func sets() []policy.Set {
	set := func(churnRate, churnBurst, watchedRate, burst, books int64) policy.Set {
		hardly := limits(policy.Limit{Name: "book", Tokens: 1, Per: time.Second, Burst: books})
		return policy.Set{
			{Endpoint: churn, Limits: limits(policy.Limit{Name: "rate", Tokens: churnRate, Per: time.Second, Burst: churnBurst})},
			{Endpoint: watched, Limits: limits(policy.Limit{Name: "rate", Tokens: watchedRate, Per: time.Second, Burst: burst})},
			{Endpoint: waited, Limits: limits(policy.Limit{Name: "rate", Tokens: waitedTokens, Per: time.Second, Burst: waitedBurst})},
			{Endpoint: session, Limits: hardly},
			{Endpoint: account, Limits: hardly},
			{Endpoint: firm, Limits: hardly},
			{Endpoint: common, Credit: credit, Limits: limits(policy.Limit{Name: "budget", Tokens: 1, Per: time.Second, Burst: commonBurst})},
		}
	}
	return []policy.Set{
		set(200, 5, watchedTokens, watchedBurst, bookBurst),
		set(500, 8, 7, 10, bookLess),
		set(200, 2, 13, watchedBurst, bookBurst),
		set(1000, 5, watchedTokens, 3, bookLess),
	}
}
