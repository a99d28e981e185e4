package record

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

var kept []*[100]byte // escapes

//go:noinline
func allocate() { kept = append(kept[:0], new([100]byte)) }

//go:noinline
func wait(c chan bool) { <-c }

// count adds up the samples of a sample type that a function of this package is in.
func count(p *profile.Profile, sampleType, function string) (n int64) {
	i := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == sampleType })
	for _, s := range p.Sample {
		for _, l := range s.Location {
			for _, line := range l.Line {
				if strings.HasSuffix(line.Function.Name, "record."+function) {
					n += s.Value[i]
				}
			}
		}
	}
	return n
}

// Exactly what happened between Start and Stop is in the profiles.
func TestStretch(t *testing.T) {
	defer EverySample()()
	kept = make([]*[100]byte, 0, 1)
	blocked := func() {
		c := make(chan bool)
		var wg sync.WaitGroup
		wg.Go(func() { wait(c) })
		c <- true
		wg.Wait()
	}
	for range 5 {
		allocate()
	}
	blocked()
	s, err := Start()
	require.NoError(t, err)
	for range 7 {
		allocate()
	}
	require.NoError(t, s.Goroutines())
	r, err := s.Stop()
	require.NoError(t, err)
	got, err := r.Profiles()
	require.NoError(t, err)
	for _, kind := range Kinds {
		require.NotNil(t, got[kind], kind)
	}
	require.EqualValues(t, 7, count(got["allocs"], "alloc_objects", "allocate"))
	require.Zero(t, count(got["block"], "contentions", "wait"), "it waited before the stretch")
	require.Positive(t, count(got["goroutine"], "goroutine", "TestStretch"))

	s, err = Start()
	require.NoError(t, err)
	_, err = Start()
	require.Error(t, err, "two at a time")
	r, err = s.Stop()
	require.NoError(t, err)
	got, err = r.Profiles()
	require.NoError(t, err)
	require.Zero(t, count(got["allocs"], "alloc_objects", "allocate"))
	require.Nil(t, got["goroutine"])
}
