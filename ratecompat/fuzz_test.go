package ratecompat

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzLimiter calls everything with anything: rates, bursts, counts and times. It
// must not panic, nor show more tokens than the burst, nor a negative delay.
func FuzzLimiter(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef0123456789abcdef"))
	f.Add(make([]byte, 99))
	f.Fuzz(func(t *testing.T, in []byte) {
		word := func() (v uint64) {
			var b [8]byte
			in = in[copy(b[:], in):]
			return binary.LittleEndian.Uint64(b[:])
		}
		rate := Limit(math.Float64frombits(word()))
		l := NewLimiter(rate, int(word()))
		var held []*Reservation
		for len(in) > 0 {
			op := in[0]
			v := word()
			at := time.Unix(0, int64(word()))
			if op&0x80 != 0 {
				at = time.Unix(int64(v), 0)
			}
			switch op % 9 {
			case 0:
				l.AllowN(at, int(v))
			case 1:
				l.AllowN(at, int(v%4))
			case 2:
				held = append(held, l.ReserveN(at, int(v%1000)))
			case 3:
				held = append(held, l.ReserveN(at, int(v)))
			case 4:
				l.SetLimitAt(at, Limit(math.Float64frombits(v)))
			case 5:
				l.SetLimitAt(at, Limit(v>>16))
			case 6:
				l.SetBurstAt(at, int(v))
			case 7:
				l.SetBurstAt(at, int(v%50))
			case 8:
				if len(held) > 0 {
					held[int(v%uint64(len(held)))].CancelAt(at)
				}
			}
			require.LessOrEqual(t, l.TokensAt(at), math.Max(0, float64(l.Burst())))
			for _, r := range held {
				require.GreaterOrEqual(t, r.DelayFrom(at), time.Duration(0))
			}
		}
	})
}

// FuzzBound lets single events come at any times within 9 s, stale or not.
func FuzzBound(f *testing.F) {
	f.Add(10.0, 10, []byte{1, 0, 1, 0, 1, 0, 1, 0, 200, 3, 255})
	f.Add(63e7, 5, []byte{9, 8, 7})
	f.Fuzz(func(t *testing.T, rate float64, burst int, in []byte) {
		if !(rate > 0 && rate < 2e9 && burst > 0) {
			t.Skip()
		}
		l, passed := NewLimiter(Limit(rate), burst), 0.0
		least, most := 9.0, 0.0
		for i, b := range in {
			s := float64(b) / 256 * 9
			least, most = min(least, s), max(most, s)
			if n := 1 + i%3; l.AllowN(sec(s), n) {
				passed += float64(n)
			}
		}
		bound := float64(burst) + rate*max(0, most-least)
		require.LessOrEqual(t, passed, bound*(1+1e-9)+1e-6)
	})
}
