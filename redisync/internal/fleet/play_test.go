package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var limit = Limit{Tokens: 10_000, Per: time.Second, Capacity: 1000}

func mustPlay(t *testing.T, s Scene) Result {
	r, err := Play(t, s)
	require.NoError(t, err)
	return r
}

// Greedy nodes come near the bound and stay within it, use the whole budget, and share
// it; every token is charged once.
func TestGreedy(t *testing.T) {
	for _, c := range []struct {
		nodes  int
		credit int64
	}{{2, 64}, {8, 16}, {32, 4}} {
		r := mustPlay(t, Scene{Nodes: c.nodes, Seed: 1, Limit: limit, Credit: c.credit, Length: 4 * time.Second, Join: time.Second})
		require.Equal(t, r.Admitted, r.Charged)
		require.LessOrEqual(t, r.Excess, float64(r.Bound())+1)
		require.Greater(t, r.Excess, .7*float64(r.Bound()), "or the bound was not tried")
		require.Greater(t, float64(r.Admitted), .99*r.Possible())
		require.True(t, r.Newcomers().Ever, "the second half gets its half")
		require.Less(t, r.Each().Worst, .25, "and every node about its part")
	}
}

func TestOrdinaryLoadsStayFarFromTheBound(t *testing.T) {
	for _, load := range []Load{Poisson, Skewed} {
		r := mustPlay(t, Scene{Nodes: 16, Seed: 2, Limit: limit, Credit: 16, Load: load, Factor: .8, Length: 2 * time.Second})
		require.InEpsilon(t, 16_000, r.Offered, .05)
		require.Equal(t, r.Offered, r.Admitted, load.String())
		require.Less(t, r.Excess, .1*float64(r.Bound()))
		require.Less(t, r.CallsPerSecond(), 16*110.)
		require.Greater(t, r.CallsPerSecond(), 16*40.)
	}
}

func TestFlowComesBack(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		r := mustPlay(t, Scene{
			Nodes: 8, Seed: 3, Limit: limit, Credit: 16, Length: 5 * time.Second,
			Away: 500 * time.Millisecond, Back: 3 * time.Second, Refuse: refuse,
		})
		require.Positive(t, r.Granted)
		before, after := r.AloneFlow()
		require.Less(t, before, .1, "only the credit")
		require.LessOrEqual(t, after, 1.2)
		require.Greater(t, after, .2, "the shares")
		if refuse {
			require.Greater(t, after, .9, "all of the shares")
		}
		s := r.Recovered()
		require.True(t, s.Ever)
		require.Less(t, s.After, 1500*time.Millisecond)
	}
}

// A scene is played alike each time, on any number of processors.
func TestPlaysAreAlike(t *testing.T) {
	s := Scene{Nodes: 12, Seed: 4, Limit: limit, Credit: 8, Length: 2 * time.Second, Away: 200 * time.Millisecond, Back: 1500 * time.Millisecond}
	first := mustPlay(t, s)
	require.Equal(t, first, mustPlay(t, s))
	s.Seed++
	require.NotEqual(t, first.Course, mustPlay(t, s).Course)
}

func TestScenesAreChecked(t *testing.T) {
	good := Scene{Nodes: 2, Limit: limit, Credit: 1, Length: time.Second}
	for _, spoil := range []func(*Scene){
		func(s *Scene) { s.Nodes = 1 },
		func(s *Scene) { s.Nodes = MaxNodes + 1 },
		func(s *Scene) { s.Credit = 0 },
		func(s *Scene) { s.Credit = 1001 },
		func(s *Scene) { s.Length = 0 },
		func(s *Scene) { s.Join = time.Minute },
		func(s *Scene) { s.Away = time.Second },
		func(s *Scene) { s.Load = Poisson },
	} {
		s := good
		spoil(&s)
		_, err := Play(t, s)
		require.Error(t, err)
	}
}

func TestMeter(t *testing.T) {
	m := newMeter(Limit{Tokens: 10, Per: time.Second, Capacity: 2})
	for range 3 {
		m.admit(0)
	}
	require.Equal(t, 1., m.excess())
	m.admit(200 * time.Millisecond)
	require.Equal(t, 1., m.excess())
	m.admit(250 * time.Millisecond)
	require.Equal(t, 1., m.excess())
	m.admit(250 * time.Millisecond)
	require.Equal(t, 1.5, m.excess())
}

func TestGrid(t *testing.T) {
	g, err := gridFor(300)
	require.NoError(t, err)
	require.EqualValues(t, 2000, g.step)
	require.EqualValues(t, 4007, g.next(2008, 7))
	require.EqualValues(t, 2007, g.next(2007, 7))
	require.EqualValues(t, 2007, g.last(2007, 7))
	require.EqualValues(t, 7, g.last(2006, 7))
	_, err = gridFor(MaxNodes + 1000)
	require.Error(t, err)
}
