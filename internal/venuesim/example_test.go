package venuesim_test

import (
	"fmt"
	"time"

	"github.com/tickgate/tickgate/internal/venuesim"
)

// Two sessions under one account; the third message in the account's second is
// refused, and a sender that goes on is banned.
func Example() {
	perSecond := func(n int64) venuesim.Limit {
		return venuesim.Limit{Kind: venuesim.Aligned, Tokens: n, Per: time.Second}
	}
	account := &venuesim.Rule{Name: "account", Limit: perSecond(2), Ladder: venuesim.Ladder{Strikes: 2, Ban: time.Minute}}
	venue, err := venuesim.New(
		venuesim.Class{Name: "a/order.new", Rules: []*venuesim.Rule{{Name: "session", Limit: perSecond(2)}, account}},
		venuesim.Class{Name: "b/order.new", Rules: []*venuesim.Rule{{Name: "session", Limit: perSecond(2)}, account}},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	wire, err := venuesim.NewWire(venue, venuesim.Network{Min: time.Millisecond, Max: 5 * time.Millisecond, Ordered: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, class := range []string{"a/order.new", "b/order.new", "a/order.new", "b/order.new"} {
		wire.Send(int64(i), class)
	}
	for _, d := range wire.Deliver(int64(time.Second) - 1) {
		fmt.Printf("%s %s %q\n", d.Class, d.Reply.Status, d.Reply.Rule)
	}
	for _, v := range venue.Volume() {
		fmt.Println(v.Class, v.Rule, v.Accepted, "of", v.Most)
	}
	// Output:
	// a/order.new accepted ""
	// b/order.new accepted ""
	// a/order.new refused "account"
	// b/order.new ejected "account"
	// a/order.new session 1 of 2
	// a/order.new account 2 of 2
	// b/order.new session 1 of 2
}
