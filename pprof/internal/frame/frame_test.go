package frame

import (
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

func TestShort(t *testing.T) {
	require.Equal(t, "tickgate.(*Gate).Allow", Short("github.com/tickgate/tickgate.(*Gate).Allow"))
	require.Equal(t, "p.F[go.shape.struct { a/b.c int }]", Short("x/y/p.F[go.shape.struct { a/b.c int }]"))
	require.Equal(t, "main.main", Short("main.main"))
}

func TestStackHasInlinedFunctions(t *testing.T) {
	line := func(name string) profile.Line { return profile.Line{Function: &profile.Function{Name: name}} }
	s := &profile.Sample{Location: []*profile.Location{
		{Line: []profile.Line{line("leaf"), line("inlined into")}}, {Line: []profile.Line{{}}}, {Line: []profile.Line{line("start")}},
	}}
	require.Equal(t, []string{"leaf", "inlined into", "start"}, Stack(s))
}
