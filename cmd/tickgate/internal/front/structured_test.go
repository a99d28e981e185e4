package front

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/httplimit"
)

// members reads a field as a List of RFC 9651, by a parser that is not ours, and holds
// each member to a String with Integers for parameters.
func members(t *testing.T, values []string, params ...string) (names []string) {
	t.Helper()
	list, err := httpsfv.UnmarshalList(values)
	require.NoError(t, err, values)
	for _, m := range list {
		item, ok := m.(httpsfv.Item)
		require.True(t, ok, values)
		name, ok := item.Value.(string)
		require.True(t, ok, values)
		names = append(names, name)
		require.Subset(t, params, item.Params.Names(), values)
		require.Contains(t, item.Params.Names(), params[0], values)
		for _, p := range item.Params.Names() {
			v, _ := item.Params.Get(p)
			n, ok := v.(int64)
			require.True(t, ok, "%s of %v", p, values)
			require.GreaterOrEqual(t, n, int64(0), values)
		}
	}
	again, err := httpsfv.Marshal(list)
	require.NoError(t, err)
	require.Equal(t, strings.Join(values, ", "), again, "in the form that RFC 9651 gives it")
	return names
}

// TestFieldsAreStructured: what callers are told of their limits is what RFC 9651 says a
// list is, for limits of all kinds, while they last and when they are used up.
func TestFieldsAreStructured(t *testing.T) {
	for limits, want := range map[string][]string{
		`"2/s"`:                              {"2/s"},
		`"2/h name=hour", "1/s name=burst"`:  {"hour", "burst"},
		`"2/1500ms", "6000/m burst=2"`:       {"2/1500ms", "6000/m burst=2"},
		`"2/10s rolling"`:                    {"2/10s rolling"},
		`"2/d aligned"`:                      {"2/d aligned"},
		`"2/3s from-first", "5/s reserve=2"`: {"2/3s from-first", "5/s reserve=2"},
		`"1/d name=a!#$%&'()*+,;:<>?@[]^_"`:  {"a!#$%&'()*+,;:<>?@[]^_"},
		`"2000000000/s burst=1"`:             {"2000000000/s burst=1"},
		`"1/d burst=300"`:                    {"1/d burst=300"},
		`"deny"`:                             {"deny"},
	} {
		g := put(t, func(http.ResponseWriter, *http.Request) {}, `[{"endpoint":"default","limits":[`+limits+`]}]`,
			func(c *Config) { c.Headers = httplimit.Both })
		for range 4 {
			res := g.send(t, "GET", "/", "", "Authorization", alice)
			require.Equal(t, want, members(t, res.Header["Ratelimit-Policy"], "q", "w"), limits)
			require.Subset(t, want, members(t, res.Header["Ratelimit"], "r", "t"), limits)
			require.Len(t, res.Header["Ratelimit"], 1, limits)
		}
	}
}

// TestIdempotencyKeyIsStructured: every String of RFC 9651 of up to 256 bytes is taken,
// and one and the same key however it is written.
func TestIdempotencyKeyIsStructured(t *testing.T) {
	runs := 0
	g := put(t, func(w http.ResponseWriter, _ *http.Request) { runs++; fmt.Fprint(w, runs) }, open, nil)
	for i, id := range []string{"8e03978e-40d5-43dd-bc93-6894a57f9324", `with "quotes" and \`, "a, b;c=1", " ", strings.Repeat("k", 256)} {
		text, err := httpsfv.Marshal(httpsfv.NewItem(id))
		require.NoError(t, err)
		for _, replayed := range []string{"", "true"} {
			res := g.send(t, "POST", "/", "x", "Authorization", alice, "Idempotency-Key", text)
			require.Equal(t, fmt.Sprint(i+1), res.text, id)
			require.Equal(t, replayed, res.Header.Get("Idempotent-Replayed"))
		}
	}
}
