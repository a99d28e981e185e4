package tickgate_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tickgate/tickgate/policy"
)

var fuzzLimits = []policy.Limit{
	{Tokens: 10, Per: time.Second},
	{Tokens: 7, Per: time.Second, Burst: 3},
	{Tokens: 1, Per: policy.Day},
	{Tokens: 2_000_000_000, Per: time.Second, Burst: 4},
	{Tokens: 97, Per: time.Second, Burst: 5},
	{Tokens: 1_000_003, Per: time.Minute, Burst: 9},
}

// play reads a script from bytes: two for each call.
func play(s *script, ops []byte) {
	step := max(time.Duration(int64(s.limit.Per)/s.limit.Tokens/4), 1)
	for ; len(ops) >= 2; ops = ops[2:] {
		op, x := ops[0], int(ops[1])
		name := string(rune('a' + x&7))
		switch op % 16 {
		case 0, 1:
			s.clock.Advance(time.Duration(x) * step)
		case 2:
			s.clock.Advance(time.Duration(x) * step * 64)
		case 3:
			s.pin(name)
		case 4:
			s.unpin(name)
		case 5, 6:
			s.refund(name, x>>3)
		case 7:
			s.take(name, int64(x>>3), lateBy*time.Duration(x)/256)
		case 8:
			s.take(name, 1, time.Duration(x>>3)*step)
		default:
			s.take(name, int64(1+x>>6), 0)
		}
	}
}

func FuzzGate(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 24 {
		ops := make([]byte, 2*200)
		for j := range ops {
			ops[j] = byte(r.Uint32())
		}
		f.Add(uint8(i), uint8(i%5), ops)
	}
	f.Fuzz(func(t *testing.T, limit, maxKeys uint8, ops []byte) {
		ops = ops[:min(len(ops), 600)]
		s := newScript(t, fuzzLimits[int(limit)%len(fuzzLimits)], 1+int(maxKeys%10), 0)
		play(s, ops)
		if s.gate.Stats().Evictions.Forced == 0 {
			s.check()
		}
	})
}
