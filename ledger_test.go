package tickgate_test

import (
	"fmt"
	"math/big"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// ledger holds what was admitted, in the order of time, against C + r·τ for all
// spans at once. With V = admitted·per − t·tokens, no V after an admission may be
// above the V before an earlier one by more than C·per.
type ledger struct {
	limit  policy.Limit
	sum    big.Int // admitted, tokens times per
	lowest *big.Int
	room   big.Int // C·per
}

func newLedger(l policy.Limit) *ledger {
	b := &ledger{limit: l}
	b.room.Mul(big.NewInt(l.Capacity()), big.NewInt(int64(l.Per)))
	return b
}

// admit enters n tokens at a time not before the last one's, and reports an error
// if some span that ends here has too many.
func (b *ledger) admit(at clock.Time, n int64) error {
	refilled := new(big.Int).Mul(big.NewInt(int64(at)), big.NewInt(b.limit.Tokens))
	before := new(big.Int).Sub(&b.sum, refilled)
	if b.lowest == nil || before.Cmp(b.lowest) < 0 {
		b.lowest = before
	}
	b.sum.Add(&b.sum, new(big.Int).Mul(big.NewInt(n), big.NewInt(int64(b.limit.Per))))
	after := new(big.Int).Sub(&b.sum, refilled)
	if after.Sub(after, b.lowest).Cmp(&b.room) > 0 {
		return fmt.Errorf("%s: a span that ends at %d admits more than C + r·τ", b.limit, at)
	}
	return nil
}
