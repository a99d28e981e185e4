package refmodel

import (
	"math"
	"math/big"
	"time"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// level is a token bucket.
type level struct {
	limit Limit
	rate  *big.Rat // tokens a nanosecond

	begun bool       // last means something
	last  clock.Time // when gone was true
	gone  *big.Rat   // tokens used at last, at least 0
	flow  *big.Rat   // tokens that time has brought so far, also those that found no room
	given *big.Rat   // tokens given back so far
}

func newLevel(l Limit) *level {
	v := &level{gone: new(big.Rat), flow: new(big.Rat), given: new(big.Rat)}
	v.adopt(l)
	return v
}

func (v *level) of() Limit { return v.limit }

// adopt keeps what is used, to the fraction of a token, at whatever rate.
func (v *level) adopt(l Limit) bool {
	if l.Window != policy.TokenBucket {
		return false
	}
	v.limit = l
	v.rate = big.NewRat(l.Tokens, l.Per)
	v.cut()
	return true
}

// cut brings what is used down to the most that counts.
func (v *level) cut() {
	if m := v.limit.Most; m != nil && v.gone.Cmp(m) > 0 {
		v.gone.Set(m)
	}
}

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
	took := least(tokens, v.gone)
	v.gone.Sub(v.gone, took)
	return took
}

func (v *level) take(n int64) mark {
	m := taken{v, n, copied(v.gone), copied(v.flow), copied(v.given)}
	v.charge(n)
	return m
}

func (v *level) charge(n int64) {
	v.gone.Add(v.gone, whole(n))
	v.cut()
}

func (v *level) credit(n int64) {
	v.given.Add(v.given, v.lower(whole(n)))
}

func (v *level) used() *big.Rat { return copied(v.gone) }

func (v *level) left(urgent bool) int64 {
	left := new(big.Rat).Sub(whole(v.limit.room(urgent)), v.gone)
	if left.Sign() <= 0 {
		return 0
	}
	return new(big.Int).Quo(left.Num(), left.Denom()).Int64()
}

func (v *level) wait(n int64, urgent bool, after time.Duration) time.Duration {
	lack := new(big.Rat).Add(v.gone, whole(n))
	return max(after, v.brings(lack.Sub(lack, whole(v.limit.room(urgent)))))
}

func (v *level) reset() time.Duration { return v.brings(v.gone) }

// brings is the least number of nanoseconds that brings tokens.
func (v *level) brings(tokens *big.Rat) time.Duration {
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

// taken is what a level remembers of a take of n tokens.
type taken struct {
	by                  *level
	n                   int64
	before, flow, given *big.Rat // of the level, before the take
}

// refund gives back of a take what the bucket would have more now without it.
//
// On an axis of tokens that time brings, the bucket is full again at F, and a
// charge of x at P1 on the base B = max(F, P1) stands for [B, B+x), or for
// [B−R, B+x−R) after R tokens were given back. What of that time has passed by
// now, P2, the charge did not take away from anybody any more:
//
//	x − max(0, P2 − max(P1, B−R)), at least 0
func (v *level) refund(of mark) {
	m, ok := of.(taken)
	if !ok || m.by != v {
		return
	}
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
