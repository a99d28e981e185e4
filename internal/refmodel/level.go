package refmodel

import (
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/tickgate/tickgate/clock"
)

// Limit is a rate of Tokens per Per nanoseconds with a capacity of Capacity
// tokens. All three are at least 1.
type Limit struct {
	Name     string // where there are several; names differ
	Tokens   int64
	Per      int64
	Capacity int64

	// Most is the most tokens that may count as used, where a charge above it is
	// to be lost. nil is no bound.
	Most *big.Rat
}

// level is one limit of one key.
type level struct {
	limit    Limit
	rate     *big.Rat // tokens a nanosecond
	capacity *big.Rat // tokens

	begun bool       // last means something
	last  clock.Time // when used was true
	used  *big.Rat   // tokens used at last, at least 0
	flow  *big.Rat   // tokens that time has brought so far, also those that found no room
	given *big.Rat   // tokens given back so far
}

func newLevel(l Limit) *level {
	v := &level{used: new(big.Rat), flow: new(big.Rat), given: new(big.Rat)}
	v.set(l)
	return v
}

// set puts l into force. What is used stays used.
func (v *level) set(l Limit) {
	if l.Tokens < 1 || l.Per < 1 || l.Capacity < 1 {
		panic(fmt.Sprintf("refmodel: %+v: tokens, period and capacity must be at least 1", l))
	}
	v.limit = l
	v.rate = big.NewRat(l.Tokens, l.Per)
	v.capacity = whole(l.Capacity)
	v.cut()
}

// cut brings used down to the most that counts.
func (v *level) cut() {
	if m := v.limit.Most; m != nil && v.used.Cmp(m) > 0 {
		v.used.Set(m)
	}
}

// to moves the level on to t, which is not before last.
func (v *level) to(t clock.Time) {
	if v.begun {
		brought := new(big.Rat).SetInt(between(v.last, t))
		brought.Mul(brought, v.rate)
		v.flow.Add(v.flow, brought)
		v.lower(brought)
	}
	v.begun, v.last = true, t
}

// lower takes up to tokens off what is used, and returns how many it took.
func (v *level) lower(tokens *big.Rat) *big.Rat {
	took := least(tokens, v.used)
	v.used.Sub(v.used, took)
	return took
}

// ever reports whether n tokens can be there at all.
func (v *level) ever(n int64) bool { return n <= v.limit.Capacity }

// charge counts n tokens as used, whatever is left.
func (v *level) charge(n int64) {
	v.used.Add(v.used, whole(n))
	v.cut()
}

// credit gives up to n tokens back.
func (v *level) credit(n int64) {
	v.given.Add(v.given, v.lower(whole(n)))
}

// remaining is the number of whole tokens left.
func (v *level) remaining() int64 {
	left := new(big.Rat).Sub(v.capacity, v.used)
	if left.Sign() <= 0 {
		return 0
	}
	return new(big.Int).Quo(left.Num(), left.Denom()).Int64()
}

// retry is the least wait after which n tokens are there.
func (v *level) retry(n int64) time.Duration {
	lack := new(big.Rat).Add(v.used, whole(n))
	return v.wait(lack.Sub(lack, v.capacity))
}

// reset is the least wait after which nothing is used.
func (v *level) reset() time.Duration { return v.wait(v.used) }

// wait is the least number of nanoseconds that brings tokens.
func (v *level) wait(tokens *big.Rat) time.Duration {
	if tokens.Sign() <= 0 {
		return 0
	}
	ns := new(big.Rat).Quo(tokens, v.rate)
	whole, rest := new(big.Int).QuoRem(ns.Num(), ns.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	if !whole.IsInt64() {
		return math.MaxInt64
	}
	return time.Duration(whole.Int64())
}

// mark is what a level remembers of a charge of n tokens.
type mark struct {
	n                   int64
	before, flow, given *big.Rat // of the level, before the charge
}

func (v *level) mark(n int64) mark {
	return mark{n, copied(v.used), copied(v.flow), copied(v.given)}
}

// refund gives back of a charge what the bucket would have more now without it.
//
// On an axis of tokens that time brings, the bucket is full again at F, and a
// charge of x at P1 on the base B = max(F, P1) stands for [B, B+x), or for
// [B−R, B+x−R) after R tokens were given back. What of that time has passed by
// now, P2, the charge did not take away from anybody any more:
//
//	x − max(0, P2 − max(P1, B−R)), at least 0
func (v *level) refund(m mark) {
	since := new(big.Rat).Sub(v.flow, m.flow)              // P2 − P1
	base := new(big.Rat).Sub(v.given, m.given)             // R
	base = most(base.Sub(m.before, base), new(big.Rat))    // max(P1, B−R) − P1
	gone := most(since.Sub(since, base), new(big.Rat))     // P2 − max(P1, B−R)
	give := most(gone.Sub(whole(m.n), gone), new(big.Rat)) // of x
	v.given.Add(v.given, v.lower(give))
}

func whole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func copied(r *big.Rat) *big.Rat { return new(big.Rat).Set(r) }

func least(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return copied(a)
	}
	return copied(b)
}

func most(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) > 0 {
		return copied(a)
	}
	return copied(b)
}
