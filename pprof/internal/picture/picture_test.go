package picture

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// sample is one stack, leaf first.
func sample(p *profile.Profile, value int64, path string, stack ...string) {
	s := &profile.Sample{Value: []int64{1, value}}
	if path != "" {
		s.Label = map[string][]string{"path": {path}, "policy": {"rate"}}
	}
	for _, name := range stack {
		f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
		l := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
		p.Function, p.Location, s.Location = append(p.Function, f), append(p.Location, l), append(s.Location, l)
	}
	p.Sample = append(p.Sample, s)
}

func cpu() *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	sample(p, 30e6, "take", "x/shard.(*Table).Allow", "x/tickgate.(*Gate).Take", "main.main")
	sample(p, 10e6, "take", "x/tickgate.(*Gate).Take", "main.main")
	sample(p, 60e6, "allow", "main.loop", "main.loop", "main.main")
	sample(p, 0, "", "main.nothing")
	return p
}

func TestTop(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, View{"hot, cpu", "cpu", []string{"policy", "path"}}.Top(&out, cpu(), 3))
	require.Equal(t, `hot, cpu: 100ms of cpu

         cpu   share
        60ms   60.0%  rate/allow
        40ms   40.0%  rate/take

        flat                  cum        
        60ms   60.0%         60ms   60.0%  main.loop
        30ms   30.0%         30ms   30.0%  shard.(*Table).Allow
        10ms   10.0%         40ms   40.0%  tickgate.(*Gate).Take
and 1 more functions
`, out.String())
}

func TestFlameIsAnSVGOfAllFunctions(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, View{"a < b", "cpu", []string{"policy", "path"}}.Flame(&out, cpu()))
	text := out.String()
	for _, part := range []string{
		"a &lt; b: 100ms of cpu", "rate/take: 40ms, 40.0%", "x/tickgate.(*Gate).Take: 40ms, 40.0%; itself 10ms, 10.0%",
		">main.loop</text>", ">rate/take</text>", `width="1199.5"`, `width="719.5"`,
	} {
		require.Contains(t, text, part)
	}
	require.NotContains(t, text, "main.nothing")
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		_, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
	}
}

func TestEmptyAndWrongProfiles(t *testing.T) {
	p := cpu()
	p.Sample = nil
	var top, flame bytes.Buffer
	require.NoError(t, View{"empty", "cpu", []string{"policy", "path"}}.Top(&top, p, 3))
	require.Contains(t, top.String(), "no samples")
	require.NoError(t, View{"empty", "cpu", nil}.Flame(&flame, p))
	require.Contains(t, flame.String(), "empty: 0s of cpu")
	require.ErrorContains(t, View{"heap", "inuse_space", nil}.Top(&top, p, 3), `no values of "inuse_space"`)
	require.ErrorContains(t, View{"heap", "inuse_space", nil}.Flame(&flame, p), `no values of "inuse_space"`)
}

func TestQuantity(t *testing.T) {
	for want, c := range map[string]struct {
		n    int64
		unit string
	}{
		"12": {12, "count"}, "999ns": {999, "nanoseconds"}, "1.5ms": {1500_400, "nanoseconds"}, "2.35s": {2_345_678_901, "nanoseconds"},
		"1h0m0s": {3600e9, "nanoseconds"}, "512 B": {512, "bytes"}, "1.5 KiB": {1536, "bytes"}, "4096 GiB": {4 << 40, "bytes"},
	} {
		require.Equal(t, want, quantity(c.n, c.unit))
	}
}
