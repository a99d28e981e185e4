package tickgate

import (
	"errors"
	"time"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/shard"
)

// Ledger is the gate's side of a common account of budgets ([Gate.Share]). Collect,
// Describe, Open and Settle are for one goroutine; any may call the others.
//
// An account that is collected is opened, told to whoever keeps the common account,
// and settled with the answer:
//
//	ledger.Collect(func(a tickgate.Account) {
//		terms, _ := ledger.Describe(a)
//		usage, ok := ledger.Open(a)
//		...                                    // charge usage.Pending there
//		ledger.Settle(a, tickgate.Settlement{Used: usage.Pending, Level: level, Done: true})
//	})
//
// No decision waits for any of them, and none of them for a decision.
type Ledger struct {
	g      *Gate
	shares map[string]*share
	names  map[*shard.Policy]string
}

// ErrShared is the error of [Gate.Share] while there is a Ledger.
var ErrShared = errors.New("tickgate: the gate's budgets are shared already; close that Ledger first")

// Account is one shared limit of one key that the table holds. It can be compared, and
// be the key of a map. When the key left the table and came back, it is another one.
type Account struct{ a shard.Account }

// Terms say what an account is of.
type Terms struct {
	APIKey, Endpoint, Limit string // Limit is its name

	Tokens   int64         // of the rate
	Per      time.Duration // of the rate
	Capacity int64
	Credit   int64 // in force, in CreditMode
	Mode     BudgetMode
	Gen      uint32 // counts the changes of the policy
}

// Usage is what an account says.
type Usage struct {
	// Pending is, in CreditMode, the tokens that were used here and are not settled.
	Pending int64

	// Left is, in LeaseMode, the tokens of the lease that are left, good or not; less
	// than 0 after a charge. Wants reports whether a call was denied since the last Open.
	Left  int64
	Wants bool

	// Level is, in CreditMode, what is left of the limit here now, in millionths of a
	// token; less than 0 in debt.
	Level int64
}

// Settlement answers what Open told.
type Settlement struct {
	// Used is, in CreditMode, how many of the tokens that were pending are accounted
	// for, 0 to Usage.Pending.
	Used int64

	// Level is, in CreditMode, what the common account has, in millionths of a token,
	// with Used taken off: the limit's level becomes that, less what is pending by now,
	// and at most the capacity. With Keep the level stays as it is.
	Level int64
	Keep  bool

	// Done says that all that was told is settled, or was not accounted for and never will
	// be. Until then a refund lowers nothing that is pending, since somebody may know of it.
	Done bool

	// Grant is, in LeaseMode, added to the lease; less than 0 takes back. Nothing of the
	// lease can be used from Until on, a time of the gate's clock.
	Grant int64
	Until clock.Time
}

// Kicked reports whether some key used half of its credit, or was denied for want of
// it, since the last Collect. It costs a load.
func (l *Ledger) Kicked() bool { return l.g.table.Kicked() }

// Collect calls each for every account that used tokens since the last Collect, or was
// denied for want of them. It costs nothing for those that did not.
func (l *Ledger) Collect(each func(Account)) {
	l.g.table.Collect(func(a shard.Account) { each(Account{a}) })
}

// Describe tells what an account is of. It reports false if the key left the table, or
// the limit the policy.
func (l *Ledger) Describe(a Account) (t Terms, ok bool) {
	apikey, endpoint, p, k, ok := l.g.table.Named(a.a)
	if !ok {
		return Terms{}, false
	}
	named := l.name(p)
	if endpoint == "" {
		endpoint = named
	}
	plan := p.Plan()
	t = Terms{APIKey: apikey, Endpoint: endpoint, Limit: plan.CostName(k), Gen: plan.Gen()}
	s := l.shares[named]
	route := l.g.routes.Load().byName[named]
	if s == nil || route == nil || !plan.Has(k) {
		return Terms{}, false
	}
	t.Mode = s.Mode
	if s.Mode == CreditMode {
		t.Credit = plan.Limits[k].Capacity()
	}
	for _, lim := range route.limits {
		if lim.Label() == t.Limit {
			t.Tokens, t.Per, t.Capacity = lim.Tokens, lim.Per, lim.Capacity()
			return t, true
		}
	}
	return Terms{}, false // the policy is changing
}

// name returns the endpoint that a policy is named for.
func (l *Ledger) name(p *shard.Policy) string {
	if name, ok := l.names[p]; ok {
		return name
	}
	l.g.mu.Lock()
	defer l.g.mu.Unlock()
	for name, q := range l.g.known {
		l.names[q] = name
	}
	return l.names[p]
}

// Open reads an account and notes that its tokens are under way. It reports false where
// Describe does.
func (l *Ledger) Open(a Account) (Usage, bool) {
	u, ok := l.g.table.Open(a.a)
	return Usage{Pending: u.Pending, Left: u.Left, Wants: u.Wanted, Level: u.Level}, ok
}

// Settle answers an account. It reports false, and nothing has happened, where the key
// left the table, where Grant takes back and less is left, and, seldom, where refunds of
// the key kept it busy: then the answer is to be taken for lost, and Open tells it again.
func (l *Ledger) Settle(a Account, s Settlement) bool {
	return l.g.table.Settle(a.a, shard.Settlement(s))
}

// Decided counts a decision that was made elsewhere about an endpoint in RemoteMode. Under
// a policy in shadow mode it makes a denial one that passes, as the gate does. Any
// goroutine may call it.
func (l *Ledger) Decided(endpoint string, d *Decision) {
	p, _ := l.g.routes.Load().find(endpoint)
	switch {
	case p == nil:
	case d.Allowed:
		p.CountAllowed()
	case p.Shadow():
		p.CountShadowed()
		d.Allowed, d.Shadow = true, true
	default:
		p.CountDenied()
	}
}

// SetFirst sets [Budget].First of an endpoint.
func (l *Ledger) SetFirst(endpoint string, n int64) {
	if s := l.shares[endpoint]; s != nil {
		s.terms.First.Store(max(0, n))
	}
}

// Shut has every ordinary call to an endpoint be denied with Reason Unsettled, or not
// any more. Urgent calls pass as before.
func (l *Ledger) Shut(endpoint string, shut bool) {
	if s := l.shares[endpoint]; s != nil {
		s.terms.Shut.Store(shut)
	}
}

// SetRetry sets what Decision.RetryAfter says where the reason is Unsettled.
func (l *Ledger) SetRetry(endpoint string, d time.Duration) {
	if s := l.shares[endpoint]; s != nil {
		s.terms.Hint.Store(int64(max(1, d)))
	}
}

// Close ends the sharing: limits are those of this process alone again, full where the
// key was on a lease. What was used on credit stays used; what was not settled is not
// told to anybody. It may be called again.
func (l *Ledger) Close() error {
	g := l.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ledger != l {
		return nil
	}
	g.ledger = nil
	err := g.apply(g.Policies(), l.shares)
	g.table.Watch(false)
	return err
}

// share returns the budget of an endpoint, nil without one.
func (l *Ledger) share(endpoint string) *share {
	if l == nil {
		return nil
	}
	return l.shares[endpoint]
}
