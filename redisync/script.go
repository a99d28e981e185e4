package redisync

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"time"

	"github.com/tickgate/tickgate/policy"
)

//go:embed sync.lua
var scriptSource string

// script is a Lua source with the name by which Redis knows it.
type script struct {
	source string
	sha    string // SHA-1, in hex
}

func newScript(source string) script {
	sum := sha1.Sum([]byte(source))
	return script{source: source, sha: hex.EncodeToString(sum[:])}
}

// syncScript holds every operation on a budget: see sync.lua.
var syncScript = newScript(scriptSource)

// ScriptHash returns the SHA-1 of the script, in hex: its version. Nodes with
// different hashes may share budgets as long as the numbers in the operations'
// names agree.
func ScriptHash() string { return syncScript.sha }

// Unit is how many units of a level make one token.
const Unit = 1_000_000

const (
	// MaxCapacity is the highest capacity, in tokens, of a shared limit. It keeps
	// every level within the whole numbers of Lua.
	MaxCapacity = (1 << 52) / Unit
	// MaxTotal is the highest cumulative count and the highest epoch.
	MaxTotal = 1<<53 - 1
	// maxPace bounds A·B, so that a carry of B more still fits.
	maxPace = 1 << 51
)

// Policy is a limit as the script knows it. A/B is the refill in millionths of
// a token per microsecond, in lowest terms; C the capacity in millionths; V its
// version: the highest wins, and of equal ones the first.
type Policy struct {
	A, B, C, V int64
}

// PolicyOf returns the policy of tokens per period and a capacity in tokens. A
// rate that has no fraction with A·B below 2^51 is lowered to the next that has
// one, by less than one part in 10^7. The error says what is out of range.
func PolicyOf(tokens int64, per time.Duration, capacity, version int64) (Policy, error) {
	var faults []error
	if tokens <= 0 || per <= 0 || per > policy.MaxPer {
		faults = append(faults, fmt.Errorf("a rate of %d per %v cannot be shared: tokens must be positive, and the period positive and at most %v", tokens, per, policy.MaxPer))
	}
	if capacity <= 0 || capacity > MaxCapacity {
		faults = append(faults, fmt.Errorf("a capacity of %d cannot be shared: it must be 1 to %d tokens", capacity, int64(MaxCapacity)))
	}
	if version < 0 || version > MaxTotal {
		faults = append(faults, fmt.Errorf("a policy's version of %d: it must be 0 to %d", version, int64(MaxTotal)))
	}
	if faults != nil {
		return Policy{}, errors.Join(faults...)
	}
	a, b, ok := pace(tokens, int64(per))
	if !ok {
		return Policy{}, fmt.Errorf("a rate of %d per %v cannot be shared: it must be at most 2000000000/s and at least one in %v", tokens, per, policy.MaxPer)
	}
	return Policy{A: a, B: b, C: capacity * Unit, V: version}, nil
}

// pace returns the highest fraction with a·b < maxPace that is not above
// tokens·1e9 / per, which is the rate in millionths of a token per microsecond.
func pace(tokens, per int64) (a, b int64, ok bool) {
	num := new(big.Int).Mul(big.NewInt(tokens), big.NewInt(1_000_000_000))
	rate := new(big.Rat).SetFrac(num, big.NewInt(per))
	if num, den := rate.Num(), rate.Denom(); num.IsInt64() && den.IsInt64() && fits(num.Int64(), den.Int64()) {
		return num.Int64(), den.Int64(), true
	}
	// Walk the tree of fractions: lo ≤ rate < hi, neighbours. Runs in one
	// direction are taken in one step, so this is a continued fraction.
	loA, loB, hiA, hiB := int64(0), int64(1), int64(1), int64(0)
	for {
		k := steps(rate, loA, loB, hiA, hiB, false)
		if k > 0 {
			moved := most(k, func(k int64) bool { return fits(loA+k*hiA, loB+k*hiB) }, hiA, hiB)
			loA, loB = loA+moved*hiA, loB+moved*hiB
			if moved < k {
				break
			}
		}
		if cmp(loA, loB, rate) == 0 {
			break
		}
		down := steps(rate, loA, loB, hiA, hiB, true)
		moved := most(down, func(k int64) bool { return fits(hiA+k*loA, hiB+k*loB) }, loA, loB)
		hiA, hiB = hiA+moved*loA, hiB+moved*loB
		if moved < down || k == 0 && down == 0 {
			break
		}
	}
	return loA, loB, loA > 0
}

// steps is how often one end may be moved by the other before it passes rate.
func steps(rate *big.Rat, loA, loB, hiA, hiB int64, down bool) int64 {
	n, d := rate.Num(), rate.Denom()
	// lo + k·hi ≤ rate  ⟺  k·(hiA·d − hiB·n) ≤ loB·n − loA·d
	above := new(big.Int).Sub(mul(hiA, d), mul(hiB, n))
	below := new(big.Int).Sub(mul(loB, n), mul(loA, d))
	q := new(big.Int)
	if down {
		if below.Sign() == 0 {
			return 0
		}
		// hi + k·lo stays above: k·below < above
		q.Div(new(big.Int).Sub(above, big.NewInt(1)), below)
	} else {
		q.Div(below, above)
	}
	if !q.IsInt64() {
		return math.MaxInt64
	}
	return q.Int64()
}

// most returns the highest k up to limit that fits; a and b are what a step
// adds, so that no k is tried that could overflow.
func most(limit int64, fit func(int64) bool, a, b int64) int64 {
	hi := min(limit, maxPace/max(a, b, 1))
	lo := int64(0)
	for lo < hi {
		mid := lo + (hi-lo+1)/2
		if fit(mid) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

func cmp(a, b int64, rate *big.Rat) int {
	return new(big.Rat).SetFrac64(a, b).Cmp(rate)
}

func mul(x int64, y *big.Int) *big.Int { return new(big.Int).Mul(big.NewInt(x), y) }

// fits reports whether a·b, and each alone, is below maxPace.
func fits(a, b int64) bool {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return hi == 0 && lo < maxPace && a < maxPace && b < maxPace
}
