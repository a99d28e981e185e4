package verdict

import (
	"bytes"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

const face = "github.com/tickgate/tickgate."

// profileOf makes a profile with one sample for each stack, leaf first. Every second
// frame is inlined into the next.
func profileOf(k Kind, stacks ...[]string) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: k.Count, Unit: "count"}, {Type: k.Total, Unit: "any"}}}
	for _, stack := range stacks {
		s := &profile.Sample{Value: []int64{3, 300}}
		for i, name := range stack {
			f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
			p.Function = append(p.Function, f)
			line := profile.Line{Function: f}
			if i%2 == 1 {
				last := s.Location[len(s.Location)-1]
				last.Line = append(last.Line, line)
				continue
			}
			l := &profile.Location{ID: uint64(len(p.Location) + 1), Line: []profile.Line{line}}
			p.Location = append(p.Location, l)
			s.Location = append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

func TestDecisionsAreThoseOfTheContract(t *testing.T) {
	roots := Decisions()
	for _, name := range []string{
		"(*Gate).Allow", "(*Gate).AllowN", "(*Gate).Take", "(*Gate).TakeAt", "(*Gate).TakeBatch",
		"Endpoint.Allow", "Endpoint.AllowN", "Endpoint.Take", "Endpoint.TakeAt",
		"Handle.Allow", "Handle.AllowAt", "Handle.Take", "Handle.TakeAt", "Handle.TakeUrgentAt", "Handle.TakeCostsAt",
		"Group.Allow", "Group.AllowAt", "Group.TakeAt", "Group.TakeUrgentAt", "Group.TakeEachAt", "Group.TakeUrgentEachAt",
	} {
		require.True(t, roots[face+name], name)
	}
	for _, name := range []string{
		"(*Gate).Apply", "(*Gate).Handle", "(*Gate).Stats", "(*Gate).Share", "(*Gate).Usage", "(*Gate).Block", "(*Gate).Blocked",
		"Handle.Wait", "Handle.Release", "Handle.Refund",
	} {
		require.False(t, roots[face+name], name)
	}
	require.Contains(t, roots.Names(), "tickgate.Handle.AllowAt")
}

func TestJudge(t *testing.T) {
	shard := "github.com/tickgate/tickgate/shard."
	for name, c := range map[string]struct {
		stack []string // leaf first
		root  string   // "": not of the decision path
		known bool
	}{
		"mutex, deep":         {[]string{"sync.(*Mutex).Unlock", shard + "(*Table).Allow", face + "(*Gate).allow", face + "(*Gate).AllowN", face + "(*Gate).Allow", "main.worker"}, face + "(*Gate).Allow", false},
		"channel":             {[]string{"runtime.chansend1", face + "Handle.AllowAt", "main.worker"}, face + "Handle.AllowAt", false},
		"the channel's lock":  {[]string{"runtime.unlock", "runtime.chansend", face + "Handle.AllowAt"}, face + "Handle.AllowAt", false},
		"the decision itself": {[]string{face + "Handle.TakeAt", "main.worker"}, face + "Handle.TakeAt", false},
		"apply":               {[]string{"sync.(*Mutex).Unlock", face + "Operator.Apply", face + "(*Gate).Apply", "main.main"}, "", false},
		"making a handle":     {[]string{face + "(*Gate).hold", face + "(*Gate).Handle", "main.main"}, "", false},
		"a name alike":        {[]string{"other/tickgate.(*Gate).Allow", "main.main"}, "", false},
		"preempted":           {[]string{"runtime.unlock", "runtime.goschedImpl", "runtime.gopreempt_m", "runtime.newstack", face + "Handle.AllowAt"}, face + "Handle.AllowAt", true},
		"collector":           {[]string{"runtime.unlock", "runtime.wbBufFlush", face + "Handle.TakeAt"}, face + "Handle.TakeAt", true},
		"called after growth": {[]string{"sync.(*Mutex).Unlock", "runtime.newstack", face + "Handle.AllowAt"}, face + "Handle.AllowAt", false},
		"preempted elsewhere": {[]string{"sync.(*Mutex).Unlock", face + "Handle.AllowAt", "runtime.newstack"}, face + "Handle.AllowAt", false},
		"following":           {[]string{face + "(*Gate).hold", face + "(*handle).follow", face + "Handle.resolve", face + "Handle.TakeAt"}, face + "Handle.TakeAt", true},
	} {
		for _, k := range Kinds {
			got, err := Decisions().Judge(k, profileOf(k, c.stack, []string{"main.other"}))
			require.NoError(t, err, name)
			require.EqualValues(t, 6, got.Samples, name)
			if c.root == "" {
				require.Empty(t, got.Findings, name)
				continue
			}
			require.Len(t, got.Findings, 1, name)
			f := got.Findings[0]
			require.Equal(t, c.root, f.Root, name)
			require.EqualValues(t, 3, f.Count, name)
			require.EqualValues(t, 300, f.Total, name)
			require.Equal(t, c.known, f.Known != "", name)
			require.Equal(t, c.known, len(got.Faults()) == 0, name)
		}
	}
}

func TestJudgeAddsUpEqualStacks(t *testing.T) {
	stack := []string{"sync.(*Mutex).Unlock", face + "Handle.AllowAt"}
	got, err := Decisions().Judge(Kinds[0], profileOf(Kinds[0], stack, stack))
	require.NoError(t, err)
	require.Len(t, got.Findings, 1)
	require.EqualValues(t, 6, got.Findings[0].Count)
	var out bytes.Buffer
	got.Findings[0].Write(&out)
	require.Equal(t, "mutex in tickgate.Handle.AllowAt: 6 samples, 600ns in all\n    at   sync.(*Mutex).Unlock\n    from tickgate.Handle.AllowAt\n", out.String())
}

// A profile that was not recorded must not pass for a clean one.
func TestJudgeRejectsAnotherKind(t *testing.T) {
	_, err := Decisions().Judge(Kinds[0], profileOf(Kinds[2]))
	require.ErrorContains(t, err, "mutex profile has no contentions and delay")
}
