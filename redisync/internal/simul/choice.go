package simul

import "math/rand/v2"

// Choice decides what happens next. It tells by Done that nothing more does.
type Choice interface {
	IntN(n int) int // 0 to n - 1
	Done() bool
}

// random chooses so many times.
type random struct {
	*rand.Rand
	left int
}

// Random chooses by a seed, about so many times.
func Random(seed uint64, times int) Choice {
	return &random{rand.New(rand.NewPCG(seed, 5)), times}
}

func (r *random) IntN(n int) int { r.left--; return r.Rand.IntN(n) }
func (r *random) Done() bool     { return r.left <= 0 }

// bytes chooses by what a fuzzer gives.
type bytes struct{ data []byte }

// Bytes chooses by data, one byte for each choice, and ends with it.
func Bytes(data []byte) Choice { return &bytes{data} }

func (b *bytes) IntN(n int) int {
	if len(b.data) == 0 {
		return 0
	}
	x := b.data[0]
	b.data = b.data[1:]
	return int(x) % n
}

func (b *bytes) Done() bool { return len(b.data) == 0 }
