package tickgate

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/shard"
)

// BudgetMode says how a gate bounds what a key uses here of a budget that others, in
// other processes, use too.
type BudgetMode uint8

const (
	// CreditMode decides here, by the limit itself, and by a credit beside it: how many
	// tokens of a key may be used before [Ledger.Settle] has accounted for them.
	CreditMode BudgetMode = iota + 1

	// LeaseMode decides here, by tokens that Settle granted for a time. The limit itself
	// refills elsewhere.
	LeaseMode

	// RemoteMode decides nothing here: every call is denied with Reason Unsettled, and not
	// counted. Who decides elsewhere tells [Ledger.Decided].
	RemoteMode
)

func (m BudgetMode) String() string {
	switch m {
	case CreditMode:
		return "credit"
	case LeaseMode:
		return "lease"
	case RemoteMode:
		return "remote"
	}
	return "BudgetMode(" + strconv.Itoa(int(m)) + ")"
}

// Budget shares the token buckets of one policy with other processes. Limits that count
// in windows stay as they are: each process counts for itself.
type Budget struct {
	Endpoint string // of a policy of the gate
	Mode     BudgetMode

	// Credit is, in CreditMode, the most tokens of a key and limit that may be used and
	// not be settled, 1 to 2^28; more than a limit's capacity is that capacity. 0: the
	// policy's Credit.
	Credit int64

	// First is the credit of a key that was never settled; the first call of a key may
	// still take all of Credit at once. 0: Credit. See [Ledger.SetFirst].
	First int64
}

// MaxShared is the highest capacity of a limit whose budget is shared: levels are told
// in millionths of a token, as numbers that other systems hold in 53 bits.
const MaxShared = 1 << 30

// DefaultSettle is the time after which it is worth asking again when a call was denied
// with Reason Unsettled, unless [Ledger.SetRetry] says otherwise.
const DefaultSettle = 10 * time.Millisecond

// Share has the gate share budgets: whoever gets the Ledger keeps the common account
// (package redisync does). There can be one Ledger at a time. Decisions of policies that
// are not shared are as they were, and cost the same; those of shared ones cost one
// compare-and-swap more.
//
// It reports every fault of budgets at once, and then changes nothing. Keys keep what
// they have used. [Gate.Apply] keeps the budgets of endpoints that are in its set, and
// refuses a set that would end the sharing of one, as windows in place of its token buckets
// do, or bring an endpoint with a credit, which would not be shared. An endpoint that is
// left out is shared no more.
func (g *Gate) Share(budgets []Budget) (*Ledger, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ledger != nil {
		return nil, ErrShared
	}
	l := &Ledger{g: g, shares: make(map[string]*share, len(budgets)), names: map[*shard.Policy]string{}}
	if err := l.check(budgets); err != nil {
		return nil, err
	}
	g.table.Watch(true)
	g.ledger = l
	if err := g.apply(g.Policies(), l.shares); err != nil {
		g.ledger = nil
		g.table.Watch(false)
		return nil, err
	}
	return l, nil
}

// share is a budget in force.
type share struct {
	Budget
	terms *bucket.Terms
}

// check reports every fault of budgets, and notes them.
func (l *Ledger) check(budgets []Budget) error {
	set, faults := l.g.Policies(), []error(nil)
	for i, b := range budgets {
		fault := func(field, value, reason string) {
			faults = append(faults, &ConfigError{Field: fmt.Sprintf("budgets[%d](%s).%s", i, b.Endpoint, field), Value: value, Reason: reason})
		}
		p, ok := set.Lookup(b.Endpoint)
		switch {
		case !ok || p.Endpoint != b.Endpoint:
			fault("endpoint", strconv.Quote(b.Endpoint), "no policy is named so")
		case l.shares[b.Endpoint] != nil:
			fault("endpoint", strconv.Quote(b.Endpoint), "is there twice")
		}
		if b.Mode < CreditMode || b.Mode > RemoteMode {
			fault("mode", b.Mode.String(), "must be CreditMode, LeaseMode or RemoteMode")
		}
		if b.Credit < 0 || b.Credit > bucket.MaxCredit {
			fault("credit", strconv.FormatInt(b.Credit, 10), "must be 1 to 2^28, or 0 for the policy's")
		}
		if b.First < 0 {
			fault("first", strconv.FormatInt(b.First, 10), "must be at least 1, or 0 for the credit")
		}
		s := &share{Budget: b, terms: new(bucket.Terms)}
		s.terms.Hint.Store(int64(DefaultSettle))
		s.terms.First.Store(b.First)
		if b.First == 0 {
			s.terms.First.Store(bucket.MaxCredit)
		}
		l.shares[b.Endpoint] = s
	}
	return errors.Join(faults...)
}

// keeps says why p would be decided here alone, though its budget is to be shared. before
// is the policy that stands, if any: one that stood when sharing began is not shared because
// whoever shares wanted it so.
func (l *Ledger) keeps(p, before policy.Policy) error {
	if l == nil {
		return nil
	}
	buckets, windows := 0, 0
	for _, limit := range p.Limits {
		switch limit.Window {
		case policy.TokenBucket:
			buckets++
		case policy.Aligned, policy.FromFirst, policy.Rolling:
			windows++
		}
	}
	switch shared := l.share(p.Endpoint) != nil; {
	case shared && buckets == 0 && windows > 0:
		return &ConfigError{
			Field: "policies(" + p.Endpoint + ").limits", Value: strconv.Itoa(windows) + " windows",
			Reason: "the budget is shared with other processes, and of windows each would count its own: keep a token bucket, or end the sharing first",
		}
	case !shared && p.Credit > 0 && before.Endpoint == "":
		return &ConfigError{
			Field: "policies(" + p.Endpoint + ").credit", Value: strconv.FormatInt(p.Credit, 10),
			Reason: "budgets are shared already, and this one is not among them: leave the credit out, or share anew with it",
		}
	}
	return nil
}

// of returns what bounds the use of limit l of policy p, and whether it stands in the
// place of the limit, not beside it.
func (s *share) of(p policy.Policy, l policy.Limit) (n bucket.Named, alone bool, err error) {
	most, mode := l.Capacity(), bucket.OnLease
	switch s.Mode {
	case CreditMode:
		mode = bucket.OnCredit
		credit := s.Credit
		if credit == 0 {
			credit = p.Credit
		}
		if credit == 0 {
			return n, false, &ConfigError{
				Field: "policies(" + p.Endpoint + ").credit", Value: "0",
				Reason: "says how many tokens a process may use before the others know; must be at least 1",
			}
		}
		most = min(most, credit)
	case RemoteMode:
		mode = bucket.Remote
	}
	if l.Capacity() > MaxShared {
		err = &ConfigError{
			Field: fmt.Sprintf("policies(%s).limits(%s)", p.Endpoint, l.Label()), Value: strconv.FormatInt(l.Capacity(), 10),
			Reason: "a limit that is shared holds at most 2^30 tokens",
		}
	}
	n = bucket.Named{Name: l.Label() + " (" + s.Mode.String() + ")", Unnamed: l.Name == "", Of: l.Label()}
	var e error
	n.Limit, e = bucket.NewBudget(mode, most, s.terms)
	return n, s.Mode != CreditMode, errors.Join(err, e)
}
