package redisync

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// choices are read from bytes: a fuzzer changes them, a test makes them at random.
type choices struct{ data []byte }

func (c *choices) more() bool { return len(c.data) > 0 }

func (c *choices) upTo(n int64) int64 {
	v := int64(0)
	for range 3 {
		v <<= 8
		if len(c.data) > 0 {
			v |= int64(c.data[0])
			c.data = c.data[1:]
		}
		if n < 256 {
			break
		}
	}
	return v % (n + 1)
}

func pick[T any](c *choices, from ...T) T { return from[c.upTo(int64(len(from)-1))] }

var (
	modelSlots    = []Slot{"node1", "node2", "node3"}
	modelPolicies = []Policy{
		{A: 1_000, B: 1, C: 100 * Unit, V: 1},
		{A: 7, B: 3_000, C: 1_000 * Unit, V: 1},
		{A: 3_000_007, B: 7_000_000, C: 50 * Unit, V: 2},
		{A: 1, B: 1 << 40, C: MaxCapacity * Unit, V: 2},
		{A: 1 << 25, B: 1<<25 - 1, C: 4_000 * Unit, V: 3},
	}
	modelSpans = []time.Duration{0, 777 * time.Microsecond, time.Millisecond * 50, 999 * time.Millisecond, 1_018 * time.Millisecond, 3 * time.Second, time.Hour}
)

// fuzzing lets a server that outlives the runs of a fuzz target be used in them, where
// the target's own methods must not be called.
type fuzzing struct{ *testing.F }

func (fuzzing) Helper()                           {}
func (fuzzing) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// FuzzCreditAgainstModel compares every answer to any sequence of syncs and takes, of
// nodes that forget, repeat and lag, with the model's. Since time passes between calls,
// coverage varies: fuzz with -fuzzminimizetime 1x.
func FuzzCreditAgainstModel(f *testing.F) { fuzzModel(f, runCredit) }

// FuzzLeaseAgainstModel is the same for leases.
func FuzzLeaseAgainstModel(f *testing.F) { fuzzModel(f, runLease) }

func fuzzModel(f *testing.F, run func(*rig, string, *choices)) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		data := make([]byte, 400)
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
		f.Add(data)
	}
	r := newRig(f)
	var n atomic.Int64
	f.Fuzz(func(t *testing.T, data []byte) {
		data = data[:min(len(data), 1_000)]
		run(&rig{t, r.srv, r.client}, fmt.Sprint("key", n.Add(1)), &choices{data})
	})
}

func runCredit(r *rig, key string, c *choices) {
	m := newModel()
	for step := 0; c.more(); step++ {
		switch c.upTo(9) {
		case 0:
			span := pick(c, modelSpans...).Truncate(time.Second)
			r.pass(key, span)
			m.pass(span.Microseconds())
			continue
		case 1:
			if c.upTo(4) == 0 {
				r.srv.Must("DEL", key)
				m = newModel()
			}
			continue
		}
		p := pick(c, modelPolicies...)
		a := CreditArgs{
			Slot: pick(c, modelSlots...), Epoch: 1 + c.upTo(2), Total: c.upTo(200), Policy: p,
			Keep: pick[int64](c, 100_000, 7_200_000), Est: p.C - c.upTo(1<<20), Debt: pick(c, 0, 3*Unit, p.C),
		}
		a.Base = c.upTo(a.Total)
		if c.upTo(3) > 0 {
			reply := r.credit(key, a)
			want := m.credit(reply.Now, a)
			require.Equal(r.t, want, reply, "step %d: %+v", step, a)
			continue
		}
		if c.upTo(1) == 0 {
			a.Slot, a.Epoch, a.Total, a.Base = "", 0, 0, 0
		}
		b := TakeArgs{a, c.upTo(1_000)}
		reply := r.take(key, b)
		require.Equal(r.t, m.take(reply.Now, b), reply, "step %d: %+v", step, b)
	}
	if m.there {
		require.Positive(r.t, r.srv.Must("PTTL", key))
	}
}

func runLease(r *rig, name string, c *choices) {
	key, mark := LeaseKey("tickgate", name, "l", "x")
	mark += name // one for each run
	key = mark + key
	m := newModel()
	if age := time.Duration(c.upTo(2)) * time.Hour; c.upTo(3) > 0 {
		made := r.mark(mark, age)
		m.mark, m.marked = made.Since, true
	}
	for step := 0; c.more(); step++ {
		switch c.upTo(9) {
		case 0:
			span := pick(c, modelSpans...)
			r.pass(key, span)
			m.pass(span.Microseconds())
			continue
		case 1:
			switch c.upTo(8) {
			case 0:
				r.srv.Must("DEL", key)
				m.there = false
			case 1:
				r.srv.Must("DEL", key, mark)
				m = newModel()
			}
			continue
		}
		a := LeaseArgs{
			Slot: pick(c, modelSlots...), Epoch: 1 + c.upTo(2), Seen: c.upTo(120), Want: c.upTo(100),
			Policy: pick(c, modelPolicies...), Keep: 86_400_000, Lease: term, MarkTTL: MarkTTL, Leave: c.upTo(7) == 0,
		}
		a.Gone = c.upTo(a.Seen)
		a.Returned = c.upTo(a.Gone)
		// Half of the calls are those of a node that saw its answers.
		if n := m.nodes[a.Slot]; n != nil && m.there && c.upTo(1) == 0 {
			a.Epoch, a.Seen = n.epoch, n.granted
			a.Gone = n.gone + c.upTo(n.granted-n.gone)
			a.Returned = n.returned + c.upTo(max(0, a.Gone-n.gone))
		}
		reply := r.lease(key, mark, a)
		require.Equal(r.t, m.lease(reply.Now, a), reply, "step %d: %+v", step, a)
	}
	if m.there {
		require.Positive(r.t, r.srv.Must("PTTL", key))
		require.Positive(r.t, r.srv.Must("PTTL", mark))
	}
}
