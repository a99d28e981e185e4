package bucket

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// FuzzTake plays operations, decoded from the input, on a bucket and on the
// exact model.
func FuzzTake(f *testing.F) {
	f.Add([]byte{})
	for i := range rates {
		b := make([]byte, 200)
		for j := range b {
			b[j] = byte(i + j*j*31 + j>>3)
		}
		b[0] = byte(i)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		runPair(t, &tape{b[:min(len(b), 2000)]})
	})
}

// FuzzNew asks for a limit of any three numbers: an error, or a limit that is
// sound and not faster than asked.
func FuzzNew(f *testing.F) {
	for _, r := range rates {
		f.Add(r.tokens, r.per, r.capacity)
	}
	for _, v := range []int64{0, -1, 1, math.MaxInt64, math.MinInt64, 1 << 62, 1<<62 - 1, year, year + 1} {
		f.Add(v, int64(1), int64(1))
		f.Add(int64(1), v, int64(1))
		f.Add(int64(1), int64(1), v)
		f.Add(v, v, v)
	}
	f.Fuzz(func(t *testing.T, tokens, per, capacity int64) {
		l, err := New(tokens, per, capacity)
		if err != nil {
			require.Equal(t, Limit{}, l)
			requireRefused(t, tokens, per, capacity)
			return
		}
		q, c := l.Rate()
		require.True(t, q >= 1 && q <= maxQ && c >= 1, "%d per %d", q, c)
		require.Equal(t, uint64(1), gcd(uint64(q), uint64(c)))
		require.Equal(t, uint64(2*q), l.unit)
		require.Equal(t, 2*c, l.cost)
		require.Equal(t, capacity, l.Capacity())
		room := new(big.Int).Mul(big.NewInt(capacity), big.NewInt(2*c))
		require.True(t, room.IsInt64() && room.Int64() == l.room && l.room <= maxAhead)
		require.LessOrEqual(t, l.room, maxRefill*int64(l.unit))
		asked := big.NewRat(tokens, per)
		require.LessOrEqual(t, big.NewRat(q, c).Cmp(asked), 0, "faster than asked")
		require.GreaterOrEqual(t, big.NewRat(q, c).Cmp(asked.Mul(asked, big.NewRat(95, 100))), 0, "too slow")

		w := mustTake(t, &l, l.Full(0, 1), 0, 1, capacity)
		mustDeny(t, &l, w, 0, 1, 1)
		mustTake(t, &l, w, 0, 1+clock.Time(l.Used(w, 0, 1)), capacity)
	})
}

// requireRefused asserts that three numbers are rightly refused.
func requireRefused(t *testing.T, tokens, per, capacity int64) {
	if tokens <= 0 || per <= 0 || capacity <= 0 {
		return
	}
	asked := big.NewRat(tokens, per)
	if asked.Cmp(big.NewRat(2, 1)) > 0 {
		return
	}
	// The refill takes longer than a year, at a rate that may be 5 % lower.
	refill := new(big.Rat).Quo(new(big.Rat).SetInt64(capacity), asked)
	refill.Mul(refill, big.NewRat(100, 95))
	require.Positive(t, refill.Cmp(new(big.Rat).SetInt64(maxRefill)), "%d per %d, %d", tokens, per, capacity)
}

// FuzzConvert converts the word of any limit in any state to any other limit.
func FuzzConvert(f *testing.F) {
	f.Add(int64(1), second, int64(10), int64(3_000_000), second, int64(10), int64(8), uint64(0), int64(0), uint64(0))
	f.Add(int64(1), int64(2), int64(10), int64(1), int64(15), int64(10), int64(614891469123651721), uint64(2), int64(5), uint64(4))
	f.Add(int64(63), second, int64(100), int64(1), day, int64(365), int64(math.MaxInt64), uint64(1), int64(-1)<<62, uint64(1)<<63)
	f.Fuzz(func(t *testing.T, tokens1, per1, cap1, tokens2, per2, cap2, charge int64, less uint64, at int64, origin uint64) {
		l, err := New(tokens1, per1, cap1)
		if err != nil {
			t.Skip()
		}
		m, err := New(tokens2, per2, cap2)
		if err != nil {
			t.Skip()
		}
		m = m.WithParity(1)
		o, now := Origin(origin&^1), clock.Time(at)
		w := l.Charge(l.Full(o, now), o, now, charge&math.MaxInt64)
		w -= min(less&^1, uint64(used(w, l.pos(o, now))))
		checkConvert(t, &l, &m, w, o, now)
		checkConvert(t, &m, &l, m.Convert(&l, w, o, now), o, now)
	})
}

// FuzzGiveBack plays takes and refunds, decoded from the input: never more is
// there than if what was given back had not been taken.
func FuzzGiveBack(f *testing.F) {
	f.Add(uint64(4<<8), []byte{2, 1, 0, 0, 2, 2, 1, 0, 2, 0, 0})
	f.Add(uint64(4<<8|2), []byte{2, 1, 0, 2, 1, 0, 1, 9, 0, 1, 0, 2, 0, 1, 2, 0, 0})
	f.Fuzz(func(t *testing.T, seed uint64, b []byte) {
		newLedger(t, giveBackLimit(seed), 0).play(&tape{b})
	})
}
