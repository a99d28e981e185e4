package fleet

import (
	"math"
	"math/rand/v2"
	"sort"
)

// Load says who asks, and how often.
type Load int

const (
	Greedy  Load = iota // every node, again and again, until it is denied
	Poisson             // independent calls, as many from every node
	Skewed              // the same, the i-th node 1/i as many as the first
)

var loads = [...]string{"greedy", "poisson", "skewed"}

// String returns its name.
func (l Load) String() string { return loads[l] }

// arrivals draws who asks within a step of the driver, where the load is not greedy.
type arrivals struct {
	rand  *rand.Rand
	upTo  []float64 // weights of the nodes up to each
	calls float64   // in a step, on average
}

func newArrivals(l Load, nodes int, calls float64, r *rand.Rand) *arrivals {
	a := &arrivals{rand: r, calls: calls, upTo: make([]float64, nodes)}
	sum := 0.0
	for i := range nodes {
		if l == Skewed {
			sum += 1 / float64(i+1)
		} else {
			sum++
		}
		a.upTo[i] = sum
	}
	return a
}

// number draws how many ask.
func (a *arrivals) number() (n int) {
	for p, least := a.rand.Float64(), math.Exp(-a.calls); p > least; n++ {
		p *= a.rand.Float64()
	}
	return n
}

// who draws a node.
func (a *arrivals) who() int {
	return sort.SearchFloat64s(a.upTo, a.rand.Float64()*a.upTo[len(a.upTo)-1])
}
