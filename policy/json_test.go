package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

func parse(s string) (Set, error) { return ParsePolicies(strings.NewReader(s)) }

func TestParsePolicies(t *testing.T) {
	want := Set{
		{Endpoint: "order.new", Credit: 5, Limits: []Limit{
			{Tokens: 100, Per: time.Second, Burst: 20},
			{Name: "burst", Tokens: 10, Per: time.Second, Window: Rolling},
		}},
		{Endpoint: "order.cancel", Shadow: true, Limits: []Limit{{Window: Unlimited}}},
		{Endpoint: "default", Limits: []Limit{{Name: "per minute", Tokens: 2e6, Per: 10 * time.Minute, Burst: 1000}}},
	}
	const array = `[
	  {"endpoint": "order.new", "credit": 5, "shadow": false,
	   "limits": ["100/s burst=20", {"name": "burst", "tokens": 10, "per": "1s", "window": "rolling"}]},
	  {"shadow": true, "limits": [{"window": "unlimited"}], "endpoint": "order.cancel"},
	  {"endpoint": "default",
	   "limits": [{"name": "per minute", "tokens": 2e6, "per": "10min", "burst": 1E+3, "window": "token-bucket"}]}
	]`
	got, err := parse(array)
	require.NoError(t, err)
	require.Equal(t, want, got)

	got, err = parse(`{"policies": ` + array + "}\n")
	require.NoError(t, err)
	require.Equal(t, want, got)

	// Also through encoding/json, as a part of something larger.
	var config struct{ Policies Set }
	require.NoError(t, json.Unmarshal([]byte(`{"Policies": `+array+`}`), &config))
	require.Equal(t, want, config.Policies)

	var p Policy
	require.NoError(t, json.Unmarshal([]byte(`{"endpoint": "a", "limits": ["deny"]}`), &p))
	require.Equal(t, Policy{Endpoint: "a", Limits: []Limit{{Window: Deny}}}, p)
	var l Limit
	require.NoError(t, json.Unmarshal([]byte(`{"tokens": 5, "per": "m"}`), &l))
	require.Equal(t, Limit{Tokens: 5, Per: time.Minute}, l)
	require.NoError(t, json.Unmarshal([]byte(`{"skew": "50ms", "reserve": 2, "tokens": 5, "per": "m", "window": "aligned"}`), &l))
	require.Equal(t, Limit{Tokens: 5, Per: time.Minute, Reserve: 2, Window: Aligned, Skew: 50 * time.Millisecond}, l)
	out, err := json.Marshal(l)
	require.NoError(t, err)
	require.Equal(t, `"5/m reserve=2 aligned skew=50ms"`, string(out))
	require.NoError(t, json.Unmarshal([]byte(`{"tokens": 5, "per": "m", "reserve": 0, "skew": "0s"}`), &l))
	require.Equal(t, Limit{Tokens: 5, Per: time.Minute}, l)
	require.NoError(t, json.Unmarshal([]byte(`"6/m"`), &l))
	require.Equal(t, Limit{Tokens: 6, Per: time.Minute}, l)
}

func TestSetMarshalsBackToTheSameJSON(t *testing.T) {
	const canonical = `[` +
		`{"endpoint":"order.new","limits":["100/s burst=20","10/s rolling name=burst"],"credit":5},` +
		`{"endpoint":"GET /a?x=1\u0026y=é","limits":["unlimited"],"shadow":true},` +
		`{"endpoint":"default","limits":["5/m name=\"per minute\""]}]`
	s, err := parse(canonical)
	require.NoError(t, err)
	out, err := json.Marshal(s)
	require.NoError(t, err)
	require.Equal(t, canonical, string(out))

	for _, preset := range []Set{Default(), MemoryAPI()} {
		out, err := json.MarshalIndent(preset, "", "  ")
		require.NoError(t, err)
		back, err := ParsePolicies(bytes.NewReader(out))
		require.NoError(t, err)
		require.Equal(t, preset, back)
	}
}

func TestMarshalRefusesWhatCannotBeReadBack(t *testing.T) {
	for _, l := range []Limit{{}, {Tokens: -1, Per: 1}, {Tokens: 1, Per: 1, Window: 9}, {Tokens: 1, Per: 1, Name: `a"b`}} {
		_, err := json.Marshal(l)
		require.Error(t, err)
	}
}

func TestParsePoliciesReportsEveryFaultWithItsPlace(t *testing.T) {
	_, err := parse(`[
  {"endpoint": "", "limits": ["100/s", "abc", {"tokens": 1.5, "per": "s"}]},
  {"endpoint": "a", "limitz": ["1/s"], "limits": []},
  {"endpoint": "b", "limits": [{"tokens": 0, "per": "-1s", "window": "sliding", "burst": "5", "nmae": "x"}]},
  {"endpoint": "a", "limits": "1/s", "credit": -5},
  7,
  {"endpoint": 8, "limits": [null], "shadow": "yes", "credit": 1e30},
  {"endpoint": "c", "endpoint": "d", "limits": ["1/s", "1/1s"],
   "credit": -1},
  {"Endpoint": "e", "limits": ["deny", {"tokens": 3000000000, "per": "s"}]}
]`)
	const policyKeys = "; the keys are endpoint, limits, credit, shadow"
	const limitKeys = "; the keys are name, tokens, per, burst, reserve, window, skew"
	require.Equal(t, []string{
		`line 2, column 16: policies[0].endpoint = "": must not be empty`,
		`line 2, column 40: policies[0].limits[1] = "abc": not a rate; ` + limitForm,
		`line 2, column 58: policies[0].limits[2].tokens = 1.5: must be a whole number`,
		`line 3, column 21: policies[1](a).limitz = "[\"1/s\"]": unknown key` + policyKeys,
		`line 3, column 50: policies[1](a).limits = "": must not be empty; write "unlimited" or "deny" if that is meant`,
		`line 4, column 43: policies[2](b).limits[0].tokens = 0: must be above zero`,
		`line 4, column 53: policies[2](b).limits[0].per = -1s: must be a whole number and a unit: ns, us, ms, s, m, h or d; write [k]unit, as in "s", "10s" or "1h"`,
		`line 4, column 70: policies[2](b).limits[0].window = "sliding": not a window; ` + windowForms,
		`line 4, column 90: policies[2](b).limits[0].burst = 5: must be a whole number, without quotes`,
		`line 4, column 95: policies[2](b).limits[0].nmae = "\"x\"": unknown key` + limitKeys,
		`line 5, column 16: policies[3](a).endpoint = "a": listed twice, first in policies[1]; keep one`,
		`line 5, column 31: policies[3](a).limits = "\"1/s\"": must be an array of limits, as in ["100/s"]`,
		`line 5, column 48: policies[3](a).credit = -5: must not be negative`,
		`line 6, column 3: policies[4] = 7: must be an object with the keys endpoint, limits, credit, shadow`,
		`line 7, column 16: policies[5].endpoint = 8: must be a string such as "order.new"`,
		`line 7, column 30: policies[5].limits[0] = "null": must be a string such as "100/s burst=20", or an object with the keys name, tokens, per, burst, reserve, window, skew`,
		`line 7, column 47: policies[5].shadow = "\"yes\"": must be true or false`,
		`line 7, column 64: policies[5].credit = 1e30: must be at most 9223372036854775807`,
		`line 8, column 21: policies[6](c).endpoint = "\"d\"": key given twice`,
		`line 8, column 56: policies[6](c).limits[1].name = 1/s: same name as limits[0]; give one of them another name`,
		`line 9, column 14: policies[6](c).credit = -1: must not be negative`,
		`line 10, column 3: policies[7].endpoint = "": must not be empty`,
		`line 10, column 4: policies[7].Endpoint = "\"e\"": unknown key` + policyKeys,
		`line 10, column 32: policies[7].limits[0].window = "deny": must be the only limit of its policy`,
		`line 10, column 51: policies[7].limits[1].tokens = 3000000000/s: must be at most 2e9 a second`,
	}, messages(err))

	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		require.IsType(t, (*ParseError)(nil), e)
		var fault *ConfigError
		require.ErrorAs(t, e, &fault)
	}
}

func TestParsePoliciesRefuses(t *testing.T) {
	const good = `{"endpoint":"a","limits":["1/s"]}`
	for in, want := range map[string]string{
		"":                    "the text is empty",
		" \n":                 "the text is empty",
		"null":                `line 1, column 1: policies = "null": must be an array of policies`,
		"7":                   "must be an array of policies",
		"[]":                  "must hold at least one policy",
		"{}":                  "must hold at least one policy",
		`{"policies": []}`:    "line 1, column 14: policies = \"[]\": must hold at least one policy",
		`{"policies": 3}`:     "line 1, column 14: policies = 3: must be an array of policies",
		`{"policiez": []}`:    `line 1, column 2: policiez = "[]": unknown key`,
		"[" + good + "] x":    "line 1, column 37: invalid character 'x' after top-level value",
		"[" + good + "][]":    "line 1, column 36: invalid character '[' after top-level value",
		"[\n" + good + "\n":   "line 3, column 1: unexpected end of JSON input",
		"[\n" + good + ",\n]": "line 3, column 1: invalid character ']'",
		"[" + good + ";]":     "line 1, column 35: invalid character ';'",
		"\x7fELF\x02\x01":     "line 1, column 1: invalid character '\\x7f'",
		"[\n\xff]":            "line 2, column 1: not UTF-8 text",
		`{"policies": [` + good + `], "policies": [` + good + `]}`:           `key given twice`,
		`{"version": 1, "policies": [{"endpoint": 5, "limits": []}]}`:        "unknown key; the keys are policies\n",
		"[" + good + "," + good + "]":                                        "listed twice",
		`[{"endpoint":"` + strings.Repeat("x", 257) + `","limits":["1/s"]}]`: "must be at most 256 bytes, has 257",
		strings.Repeat("[", 5000) + strings.Repeat("]", 5000):                "line 1, column 9: nested too deep",
		strings.Repeat("[", 50_000):                                          "line 1, column 10001",
		`[{"endpoint":"a","limits":[{"tokens":5,"per":10}]}]`:                `limits[0].per = 10: must be a string; write [k]unit`,
		`[{"endpoint":"a","limits":[{"tokens":[5],"per":"s"}]}]`:             `limits[0].tokens = "[5]": must be a whole number`,
		`[{"endpoint":"a","limits":[{"tokens":5,"per":"s","window":1}]}]`:    `limits[0].window = 1: not a window`,
		`[{"endpoint":"a","limits":[{"tokens":5,"per":"s","skew":50}]}]`:     `limits[0].skew = 50: must be a string; write [k]unit`,
		`[{"endpoint":"a","limits":[{"tokens":5,"per":"s","skew":"50ms"}]}]`: `limits[0].skew = 50ms: must be left out of a token bucket`,
		`[{"endpoint":"a","limits":[{"tokens":5,"per":"s","reserve":"2"}]}]`: `limits[0].reserve = 2: must be a whole number, without quotes`,
		`[{"endpoint":"a","limits":[{"tokens":5,"per":"s","reserve":5}]}]`:   `limits[0].reserve = 5: must be below the capacity of 5`,
		`[{"endpoint":"a","limits":["0/s"]}]`:                                "tokens must be above zero",
		`[{"endpoint":"a","limits":["-1/s"]}]`:                               "must be a whole number",
		`[{"endpoint":"a","limits":["1e30/s"]}]`:                             "must be at most",
	} {
		s, err := parse(in)
		require.Nil(t, s, in)
		require.ErrorContains(t, err, want)
	}

	_, err := parse("[" + strings.Repeat(" ", MaxBytes) + "]")
	require.ErrorContains(t, err, "longer than 4194304 bytes")

	broken := errors.New("disk on fire")
	_, err = ParsePolicies(iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
}

func TestParsePoliciesBoundsItsReport(t *testing.T) {
	_, err := parse("[" + strings.Repeat("{},", 2_000) + "{}]")
	lines := messages(err)
	require.Len(t, lines, maxFaults+1)
	require.Equal(t, errMore.Error(), lines[maxFaults])
}

func TestUnmarshalJSONIsStrictAndKeepsTheOldValue(t *testing.T) {
	s, p, l := Default(), Default()[0], Default()[0].Limits[0]
	for _, in := range []string{`[{"endpoint":"a"}]`, `{"endpoint":"a","limits":["1/s"],"x":1}`, `"abc"`, `{"tokens":1,"per":"s","x":2}`, `5`, `{`, `[]`} {
		require.Error(t, s.UnmarshalJSON([]byte(in)))
		require.Error(t, p.UnmarshalJSON([]byte(in)))
		require.Error(t, l.UnmarshalJSON([]byte(in)))
	}
	for _, v := range []json.Unmarshaler{&s, &p, &l} {
		require.NoError(t, v.UnmarshalJSON([]byte("null")))
	}
	require.Equal(t, Default(), s)
	require.Equal(t, Default()[0], p)
	require.Equal(t, Default()[0].Limits[0], l)

	require.EqualError(t, p.UnmarshalJSON([]byte(`{"endpoint":"a","limits":[{"tokens":0,"per":"s"}]}`)),
		"line 1, column 37: policy(a).limits[0].tokens = 0: must be above zero")
	require.EqualError(t, l.UnmarshalJSON([]byte(`{"tokens":1,"per":"s","burst":-2}`)),
		"line 1, column 31: limit.burst = -2: must not be negative; zero means the tokens")
	require.ErrorContains(t, l.UnmarshalJSON([]byte(`"abc"`)), `line 1, column 1: limit = "abc": not a rate`)
}

func FuzzParsePolicies(f *testing.F) {
	for _, preset := range []Set{Default(), MemoryAPI()} {
		seed, err := json.Marshal(preset)
		require.NoError(f, err)
		f.Add(seed)
	}
	for _, s := range []string{
		`{"policies":[{"endpoint":"a","limits":[{"name":"n","tokens":1e3,"per":"10s","burst":5,"window":"rolling"}],"credit":1,"shadow":true}]}`,
		`[{"endpoint":"a","limits":[{"tokens":9,"per":"10s","reserve":5,"window":"aligned","skew":"4s"},"9/s reserve=8"]}]`,
		`[{"endpoint":"a","limits":["deny"]},{"endpoint":"a","limits":["unlimited"]}]`,
		`[{"endpoint":"\ud800","limits":["1/s"]}]`, "[[[[[[[[[[", `{"policies":`, "\xff", "null", `[{}]`, `[{"":0}]`, "[]]", "{}{}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParsePolicies(bytes.NewReader(data))
		if err != nil {
			require.Nil(t, s)
			for _, line := range messages(err) {
				require.NotEmpty(t, line)
			}
			return
		}
		require.NotEmpty(t, s)
		require.NoError(t, s.Validate())
		for _, p := range s {
			for _, l := range p.Limits {
				require.True(t, sound(l), "%+v", l)
			}
		}
		out, err := json.Marshal(s)
		require.NoError(t, err)
		again, err := ParsePolicies(bytes.NewReader(out))
		require.NoError(t, err)
		require.Equal(t, s, again)
		out2, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, out, out2)
	})
}
