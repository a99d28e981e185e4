// Package record takes the profiles of a stretch of a program.
//
// CPU is measured over the stretch. The runtime's other profiles count from the
// start of the process; what it has of before the stretch is taken off.
package record

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"

	"github.com/google/pprof/profile"
)

// Kinds are the profiles of a stretch, in the order in which they are best read.
var Kinds = []string{"cpu", "allocs", "heap", "mutex", "block", "goroutine"}

// counting are the profiles that count from the start of the process.
var counting = []string{"allocs", "mutex", "block"}

// EverySample has the runtime record every allocation, every contended lock and every
// wait, not a sample of them, until the function that it returns is called, after the
// last recording was stopped. It is to be called once, first in main: what the rates
// are when a profile is taken, it takes them to have been from the start.
func EverySample() (usual func()) {
	rate := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	fraction := runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	return func() {
		runtime.MemProfileRate = rate
		runtime.SetMutexProfileFraction(fraction)
		runtime.SetBlockProfileRate(0)
	}
}

// Stretch is a recording under way. There can be one at a time.
type Stretch struct {
	cpu        bytes.Buffer
	before     map[string][]byte
	goroutines [][]byte
}

// Recording is what was recorded, as the runtime wrote it. To read it allocates a lot,
// and is done when allocations are not recorded any more.
type Recording struct {
	cpu           []byte
	before, after map[string][]byte
	goroutines    [][]byte
}

// Start begins a recording.
func Start() (*Stretch, error) {
	before, err := looks(counting...)
	if err != nil {
		return nil, err
	}
	s := &Stretch{before: before}
	return s, pprof.StartCPUProfile(&s.cpu)
}

// Goroutines adds what all goroutines are at now to the goroutine profile.
func (s *Stretch) Goroutines() error {
	var b bytes.Buffer
	err := pprof.Lookup("goroutine").WriteTo(&b, 0)
	s.goroutines = append(s.goroutines, b.Bytes())
	return err
}

// Stop ends the recording.
func (s *Stretch) Stop() (Recording, error) {
	pprof.StopCPUProfile()
	after, err := looks(append([]string{"heap"}, counting...)...)
	return Recording{s.cpu.Bytes(), s.before, after, s.goroutines}, err
}

// looks returns profiles of the runtime as they are now.
func looks(kinds ...string) (map[string][]byte, error) {
	// The profiles of allocations are as of the last collection.
	runtime.GC()
	runtime.GC()
	all := map[string][]byte{}
	for _, kind := range kinds {
		var b bytes.Buffer
		if err := pprof.Lookup(kind).WriteTo(&b, 0); err != nil {
			return nil, err
		}
		all[kind] = b.Bytes()
	}
	return all, nil
}

// Profiles returns what was recorded by kind. Without a call of Goroutines there is no
// goroutine profile.
func (r Recording) Profiles() (map[string]*profile.Profile, error) {
	out := map[string]*profile.Profile{}
	var faults []error
	keep := func(kind string, p *profile.Profile, err error) {
		if err != nil {
			err = fmt.Errorf("%s profile: %w", kind, err)
		} else {
			out[kind] = p
		}
		faults = append(faults, err)
	}
	p, err := profile.ParseData(r.cpu)
	keep("cpu", p, err)
	p, err = profile.ParseData(r.after["heap"])
	keep("heap", p, err)
	for _, kind := range counting {
		p, err := since(r.before[kind], r.after[kind])
		keep(kind, p, err)
	}
	if len(r.goroutines) > 0 {
		p, err := merged(r.goroutines)
		keep("goroutine", p, err)
	}
	return out, errors.Join(faults...)
}

// since takes off what was before.
func since(before, now []byte) (*profile.Profile, error) {
	was, err := profile.ParseData(before)
	if err != nil {
		return nil, err
	}
	is, err := profile.ParseData(now)
	if err != nil {
		return nil, err
	}
	was.Scale(-1)
	return profile.Merge([]*profile.Profile{is, was})
}

// merged adds up profiles.
func merged(raw [][]byte) (*profile.Profile, error) {
	var all []*profile.Profile
	for _, data := range raw {
		p, err := profile.ParseData(data)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return profile.Merge(all)
}
