package ratecompat

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	theirs "golang.org/x/time/rate"

	ours "github.com/tickgate/tickgate/ratecompat"
)

// shape describes a type's exported methods and fields, without its package.
func shape(v any) (s []string) {
	t := reflect.TypeOf(v)
	for i := range t.NumMethod() {
		m := t.Method(i)
		s = append(s, m.Name+" "+m.Type.String())
	}
	for i := range t.Elem().NumField() {
		if f := t.Elem().Field(i); f.IsExported() {
			s = append(s, f.Name+" "+f.Type.String())
		}
	}
	for i := range s {
		s[i] = strings.ReplaceAll(s[i], "ratecompat.", "rate.")
	}
	return s
}

func TestSameMethods(t *testing.T) {
	for _, pair := range [][2]any{
		{new(theirs.Limiter), new(ours.Limiter)},
		{new(theirs.Reservation), new(ours.Reservation)},
		{new(theirs.Sometimes), new(ours.Sometimes)},
	} {
		require.NotEmpty(t, shape(pair[0]))
		require.Equal(t, shape(pair[0]), shape(pair[1]))
	}
}

func TestSameValues(t *testing.T) {
	require.Equal(t, float64(theirs.Inf), float64(ours.Inf))
	require.Equal(t, theirs.InfDuration, ours.InfDuration)
	for _, d := range []time.Duration{-1, 0, 1, 7, time.Millisecond, 3 * time.Second, 1<<62 + 1} {
		require.Equal(t, float64(theirs.Every(d)), float64(ours.Every(d)), "%v", d)
	}
	require.Equal(t, "float64", reflect.TypeOf(ours.Limit(0)).Kind().String())
}
