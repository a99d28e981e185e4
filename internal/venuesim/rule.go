package venuesim

import "time"

// Limit is how much, and how it is counted.
type Limit struct {
	Kind Kind
	// Tokens is what comes back in each Per, and the most in a window.
	Tokens int64
	// Per is the length of the window, or the time in which a bucket gains, and
	// a decaying counter loses, Tokens.
	Per time.Duration
	// Burst is the capacity of a TokenBucket or a Decaying counter; zero means
	// Tokens. It must be zero for other kinds.
	Burst int64
	// Phase shifts the boundaries of an Aligned limit: from zero to below Per.
	Phase time.Duration
}

// Capacity returns the most tokens that pass at one instant: Burst if set, or
// Tokens; 0 for Deny and Never (the largest int64) for Unlimited.
func (l Limit) Capacity() int64 {
	switch {
	case l.Kind == Unlimited:
		return Never
	case l.Kind == Deny:
		return 0
	case l.Burst != 0:
		return l.Burst
	}
	return l.Tokens
}

// Rule is a limit with a name, and what a breach of it leads to. A pointer to a
// Rule that several classes list is one count for all of them: orders and
// cancels against the limit of their session, sessions against that of the firm.
type Rule struct {
	// Name is told in replies, breaches and volumes; unique within a class.
	Name string
	Limit
	// Tries makes refused messages count like accepted ones, whichever rule
	// refused them. Messages that come during a ban never count.
	Tries bool
	Ladder
}

// Ladder is what follows when a rule is broken. The zero value refuses the
// message and does no more. The rungs above that are a hard limit and a number
// of strikes; either ends in a ban, which covers every class of the venue.
//
//	venue            ladder
//	session logout   Hard, Ban 0 (until Readmit)
//	429, then 418    Strikes 5, Ban 2m, Longest 72h
//	REST lock-out    Strikes 2, Ban 15m, Renew
type Ladder struct {
	// Hard, unless zero, is a second limit that counts every message of the
	// rule, accepted or refused; the message that passes it is the last.
	Hard Limit
	// Strikes, unless zero, is which refusal leads to a ban: the first (1), the
	// second (2), and so on, all within the rule's Per of the first of them.
	Strikes int
	// Ban is how long a ban lasts; zero is until Readmit.
	Ban time.Duration
	// Longest, unless zero, makes each ban by this rule twice as long as the
	// one before, up to Longest.
	Longest time.Duration
	// Renew makes a message that comes during the ban start it again.
	Renew bool
}

// Class is a kind of message, such as "order.new", and the rules it is under.
type Class struct {
	Name  string
	Rules []*Rule
}
