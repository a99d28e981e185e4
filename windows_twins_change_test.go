package tickgate_test

import (
	"math/big"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/internal/refmodel"
	"github.com/tickgate/tickgate/policy"
)

// apply puts other limits into force. The last one may go, or another come.
func (w *twins) apply() {
	r := w.r
	for name := range w.keys { // a change moves the model's time, not the gate's
		w.take(name, w.clock.Now(), refmodel.Call{}, false)
	}
	switch n := len(w.limits); r.IntN(6) {
	case 0:
		if n > 1 {
			w.limits = w.limits[:n-1]
		}
	case 1:
		if n < 5 {
			w.limits = append(w.limits, w.limit(n))
		}
	default:
		i := r.IntN(n)
		next, old := w.limit(i), w.limits[i]
		switch {
		case old.Window != policy.TokenBucket && r.IntN(2) == 0: // more or less of the same
			next.Window, next.Per, next.Skew, next.Burst = old.Window, old.Per, old.Skew, 0
		case old.Window == policy.TokenBucket && next.Window == policy.TokenBucket:
			next.Tokens, next.Per = old.Tokens, old.Per // another rate rounds what is used up
		case old.Window == policy.Rolling && next.Window == policy.Rolling:
			next.Per, next.Skew = old.Per, old.Skew // its tokens keep their dates
		case old.Window == next.Window && next.Window != policy.TokenBucket && old.Per == next.Per:
			next.Skew = old.Skew
		}
		if old.Window == next.Window || w.mostUsed(old.Name) <= 8 { // more may not fit, and is not counted
			w.limits[i] = next
		}
	}
	w.log("apply %v", w.set())
	require.NoError(w.t, w.gate.Apply(w.set()))
	for name, k := range w.keys {
		k.model.Apply(w.clock.Now(), w.modelLimits()...)
		// What is charged anew may be more than a word can count.
		k.open, k.wrote = nil, append(k.wrote, wrote{w.clock.Now(), 8})
		w.take(name, w.clock.Now(), refmodel.Call{}, false)
	}
}

// mostUsed is what the key has used, rounded up, that used most of a limit.
func (w *twins) mostUsed(limit string) (n int64) {
	for _, k := range w.keys {
		u := k.model.Used(w.clock.Now(), limit)
		n = max(n, new(big.Int).Quo(u.Num(), u.Denom()).Int64()+1)
	}
	return n
}
