package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tickgate/tickgate"
)

// most is how many tokens a call that is booked takes, at most.
const most = 3

var booked = [...]string{session, account, firm}

// key is the name of the key of a book.
func key(endpoint string, i int) string { return fmt.Sprint(endpoint, "-", i) }

// groupwise takes from two or three keys at once, and gives some back.
func (w *world) groupwise(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		var handles []tickgate.Handle
		var books []*book
		var of []string
		for _, e := range booked[:2+r.IntN(2)] {
			i := r.IntN(len(w.books[e]))
			handles, books, of = append(handles, w.handle(key(e, i), e)), append(books, w.books[e][i]), append(of, e)
		}
		g, err := tickgate.Join(handles...)
		if err != nil {
			w.add("Join: %v", err)
		}
		for range 100 {
			n := 1 + r.Int64N(most)
			before, began := w.applied.Load(), w.clock.Axis()
			d := g.TakeAt(w.clock.Now(), n)
			w.groups.Add(1)
			back := d.Allowed && r.IntN(10) > 0
			if back {
				g.Refund(d)
				w.refunds.Add(1)
			}
			// A change of the policy at that time, and a refund or a roll-back gives nothing;
			// and time that passed has given it back.
			loss := float64(w.clock.Axis()-began) / 1e9
			if w.applies.Load() != before {
				loss = float64(n)
			}
			for i := range books {
				w.counts[of[i]].Add(1)
				switch {
				case back || !d.Allowed:
					books[i].add(0, loss)
				default:
					books[i].add(n, 0)
				}
			}
		}
		for _, h := range handles {
			h.Release()
		}
		every(ctx, time.Millisecond)
	}
}

// handlewise takes, charges, credits and gives back by handles.
func (w *world) handlewise(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		e := booked[r.IntN(len(booked))]
		i := r.IntN(len(w.books[e]))
		h, b := w.handle(key(e, i), e), w.books[e][i]
		for range 100 {
			n := 1 + r.Int64N(most)
			before, began := w.applied.Load(), w.clock.Axis()
			switch r.IntN(5) {
			case 0:
				h.Charge(n)
				b.add(n, 0)
				// What is credited is used: less would be no credit of n.
				h.Credit(n)
				b.add(-n, float64(w.clock.Axis()-began)/1e9)
			case 1:
				if w.gate.AllowN(key(e, i), e, n) {
					b.add(n, 0)
				}
				w.counts[e].Add(1)
			default:
				d := h.Take(n)
				w.counts[e].Add(1)
				if !d.Allowed {
					continue
				}
				b.add(n, 0)
				if r.IntN(4) > 0 {
					h.Refund(d)
					loss := float64(w.clock.Axis()-began) / 1e9
					if w.applies.Load() != before {
						loss = float64(n)
					}
					b.add(-n, loss)
					w.refunds.Add(1)
				}
			}
		}
		h.Release()
		every(ctx, time.Millisecond)
	}
}
