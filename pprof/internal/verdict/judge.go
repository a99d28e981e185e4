package verdict

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/tickgate/tickgate/pprof/internal/frame"
)

// Kind is a profile in which nothing of the decision path may be.
type Kind struct {
	Name         string // of the profile
	Count, Total string // its sample types: how often, and how much in all
}

// Kinds are the profiles that are judged.
var Kinds = []Kind{
	{"mutex", "contentions", "delay"},
	{"block", "contentions", "delay"},
	{"allocs", "alloc_objects", "alloc_space"},
}

// Finding is all samples of one stack that come from the decision path.
type Finding struct {
	Kind  string
	Root  string   // the decision method nearest to the goroutine's start
	Stack []string // from the leaf to the goroutine's start
	Count int64
	Total int64  // nanoseconds, or bytes
	Known string // why it is no fault; empty: it is one
}

// Ruling is what a profile says of the decision path.
type Ruling struct {
	Samples  int64 // of the whole profile, as counts
	Findings []Finding
}

// Faults returns the findings that are faults.
func (r Ruling) Faults() (faults []Finding) {
	for _, f := range r.Findings {
		if f.Known == "" {
			faults = append(faults, f)
		}
	}
	return faults
}

// Known returns how many samples are no fault, by the reason why.
func (r Ruling) Known() map[string]int64 {
	all := map[string]int64{}
	for _, f := range r.Findings {
		if f.Known != "" {
			all[f.Known] += f.Count
		}
	}
	return all
}

// interrupted are functions by which the runtime breaks in on whatever runs: it
// preempts the goroutine, grows its stack, or empties the collector's write buffer.
// Their locks are the scheduler's and the collector's, and none that the code asked
// for.
var interrupted = []string{
	"runtime.newstack", "runtime.morestack", "runtime.asyncPreempt", "runtime.asyncPreempt2",
	"runtime.gcWriteBarrier", "runtime.wbBufFlush",
}

// known are functions of the decision path that may do what others may not, and why.
var known = map[string]string{
	"github.com/tickgate/tickgate.(*handle).follow": "a handle whose endpoint another policy answers for since an Apply resolves its key again, once",
	"github.com/tickgate/tickgate.(*group).resolve": "a group with such a handle is joined again, once",
}

// Judge finds the samples of p that come from the decision path. It fails if p is
// not a profile of that kind.
func (r Roots) Judge(k Kind, p *profile.Profile) (Ruling, error) {
	count, total := index(p, k.Count), index(p, k.Total)
	if count < 0 || total < 0 {
		return Ruling{}, fmt.Errorf("the %s profile has no %s and %s: it is of another kind", k.Name, k.Count, k.Total)
	}
	var out Ruling
	at := map[string]int{}
	for _, s := range p.Sample {
		if s.Value[count] <= 0 && s.Value[total] <= 0 {
			continue
		}
		out.Samples += s.Value[count]
		stack := frame.Stack(s)
		root := r.Of(stack)
		if root == "" {
			continue
		}
		id := strings.Join(stack, "\n")
		i, ok := at[id]
		if !ok {
			i = len(out.Findings)
			at[id] = i
			out.Findings = append(out.Findings, Finding{Kind: k.Name, Root: root, Stack: stack, Known: r.excuse(stack)})
		}
		out.Findings[i].Count += s.Value[count]
		out.Findings[i].Total += s.Value[total]
	}
	slices.SortStableFunc(out.Findings, func(a, b Finding) int { return int(min(1, max(-1, b.Count-a.Count))) })
	return out, nil
}

// Of returns the decision method of a stack that is nearest to the goroutine's start,
// "" if there is none.
func (r Roots) Of(stack []string) string {
	for _, f := range slices.Backward(stack) {
		if r[f] {
			return f
		}
	}
	return ""
}

// excuse says why what a stack does within a decision is no fault, "" if it is one.
func (r Roots) excuse(stack []string) string {
	for i, f := range stack {
		if why := known[f]; why != "" {
			return why
		}
		if slices.Contains(interrupted, f) && ownedByRuntime(stack[:i]) {
			return "the runtime interrupted the goroutine (" + f + ")"
		}
		if r[f] {
			return ""
		}
	}
	return ""
}

// ownedByRuntime reports whether all frames are the runtime's.
func ownedByRuntime(stack []string) bool {
	for _, f := range stack {
		if !strings.HasPrefix(f, "runtime.") {
			return false
		}
	}
	return true
}

func index(p *profile.Profile, sampleType string) int {
	return slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == sampleType })
}

// Write prints a finding with its stack, down to where the decision was asked for.
func (f Finding) Write(w io.Writer) {
	what := fmt.Sprintf("%d samples, %v in all", f.Count, time.Duration(f.Total))
	if f.Kind == "allocs" {
		what = fmt.Sprintf("%d objects, %d bytes in all", f.Count, f.Total)
	}
	fmt.Fprintf(w, "%s in %s: %s\n", f.Kind, frame.Short(f.Root), what)
	for i, name := range f.Stack {
		arrow := "from"
		if i == 0 {
			arrow = "at  "
		}
		fmt.Fprintf(w, "    %s %s\n", arrow, frame.Short(name))
		if name == f.Root {
			break
		}
	}
}
