package idem_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
)

// A payment is made once, however often the client asks.
func ExampleStore() {
	c := clock.NewManual(0) // no Clock: the machine's
	store, err := idem.NewStore(idem.Config{Clock: c})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, made := context.Background(), 0
	pay := func(caller, key, body string) {
		claim, err := store.Begin(ctx, idem.KeyOf(caller, "POST /payments", key),
			idem.FingerprintOf("POST", "/payments", "", []byte(body)))
		var flying *idem.InFlightError
		switch {
		case errors.As(err, &flying):
			fmt.Println("409, retry within", flying.RetryAfter)
		case errors.Is(err, idem.ErrMismatch):
			fmt.Println("422, the key was used for another payment")
		case err != nil:
			fmt.Println("503", err)
		case !claim.Acquired:
			fmt.Println(claim.Result.Status, string(claim.Result.Body), "(replayed)")
		default:
			defer store.Release(ctx, claim.Token) // changes nothing after Complete
			made++
			r := idem.Result{Status: 201, Body: fmt.Appendf(nil, "payment %d", made)}
			if err := store.Complete(ctx, claim.Token, r); err != nil {
				fmt.Println(err)
			}
			fmt.Println(r.Status, string(r.Body))
		}
	}
	pay("alice", "k1", "10 EUR")
	pay("alice", "k1", "10 EUR")
	pay("alice", "k1", "99 EUR")
	pay("bob", "k1", "10 EUR")
	c.Advance(24 * time.Hour)
	pay("alice", "k1", "10 EUR")
	// Output:
	// 201 payment 1
	// 201 payment 1 (replayed)
	// 422, the key was used for another payment
	// 201 payment 2
	// 201 payment 3
}

// A gateway rejects a client order id that it has seen, until the order is closed.
func ExampleWindow() {
	window, err := idem.NewWindow(idem.WindowConfig{TTL: 8 * time.Hour, Capacity: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(window.Add("desk-7/1"))
	fmt.Println(window.Add("desk-7/1"))
	fmt.Println(window.Add("desk-7/2"))
	fmt.Println(window.Add("desk-7/3")) // two orders are open: the gateway stops, and forgets none
	fmt.Println(window.Release("desk-7/1"))
	fmt.Println(window.Add("desk-7/3"))
	// Output:
	// fresh
	// duplicate
	// fresh
	// full
	// true
	// fresh
}
