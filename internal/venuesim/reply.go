package venuesim

import "fmt"

// Status is what the venue did with a message.
type Status uint8

const (
	// Accepted: within every rule; it counts.
	Accepted Status = iota
	// Refused: a rule had no room. The sender may go on.
	Refused
	// Ejected: refused, and the sender is banned from now on.
	Ejected
	// Banned: not looked at, because the sender is banned.
	Banned
)

// String returns "accepted", "refused", "ejected" or "banned".
func (s Status) String() string {
	switch s {
	case Accepted:
		return "accepted"
	case Refused:
		return "refused"
	case Ejected:
		return "ejected"
	case Banned:
		return "banned"
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// Usage is what the headers of a reply say of one rule.
type Usage struct {
	Rule string
	// Used is what counts after the message, in tokens, rounded up: of the
	// current window, the last Per, what a bucket lacks, or a counter's level.
	Used int64
	// Limit is the rule's capacity.
	Limit int64
}

// Reply is the answer to a message.
type Reply struct {
	Status Status
	// At is when the message counted, on the venue's clock.
	At int64
	// Rule is the first rule that refused the message, or that banned the
	// sender; empty if the message was accepted.
	Rule string
	// RetryAt is when the same message would be accepted if nothing else came
	// before it, on the venue's clock: At for an accepted message, the end of the
	// ban for a banned sender, Never if that does not come.
	RetryAt int64
	// Used has one entry for each rule of the class, in their order; nil from a
	// venue that has banned the sender.
	Used []Usage
}

// Accepted reports whether the message passed.
func (r Reply) Accepted() bool { return r.Status == Accepted }
