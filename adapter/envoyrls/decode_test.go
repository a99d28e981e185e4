package envoyrls_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/envoyrls"
	"github.com/tickgate/tickgate/policy"
)

func TestUnknownKeyHasLineAndColumn(t *testing.T) {
	err := envoyrls.Check(envoyrls.File{Name: "limits.yaml", Text: []byte(`# limits of the edge
domain: edge
descriptors:
  - key: user
    rate_limit:
      unit: second
      request_per_unit: 5
`)})
	require.EqualError(t, err, "limits.yaml: line 7, column 7: descriptors[0].rate_limit = \"request_per_unit\": "+
		"is unknown here; write one of unit, requests_per_unit, burst, unlimited, name, replaces\n"+
		"limits.yaml: line 6, column 7: descriptors[0].rate_limit.requests_per_unit = \"{...}\": is required; 0 lets nothing pass")
	var place *policy.ParseError
	require.ErrorAs(t, err, &place)
	require.Equal(t, 7, place.Line)
	require.Equal(t, 7, place.Column)
}

// entry is a file with one entry, whose text begins in line 3, column 5.
func entry(text string) string { return "domain: d\ndescriptors:\n  - " + text + "\n" }

// limit is an entry with one limit, whose text begins in line 3, column 30.
func limit(text string) string { return entry("{key: user, rate_limit: {" + text + "}}") }

func TestFaults(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "a.yaml: is empty; write domain and descriptors"},
		{"# only this\n", "a.yaml: is empty"},
		{"---\n", "file = \"\": must be a mapping"},
		{"x", `line 1, column 1: file = "x": must be a mapping with domain, descriptors`},
		{"[]", `line 1, column 1: file = "[...]": must be a mapping`},
		{"null", "line 1, column 1: file = "},
		{"domain: d\n---\ndomain: e\n", `document = "": is a second document; put each domain into a file of its own`},
		{"domain: d\n...\n%YAML 1.2\n", "a.yaml: "},
		{"domain: [\n", "a.yaml: line "},
		{"\tdomain: d", "a.yaml: "},
		{"descriptors: []", "line 1, column 1: domain = "},
		{"domain: ''\n", "line 1, column 9: domain"},
		{"domain: ~\n", "line 1, column 9: domain"},
		{"domain: {}\n", "line 1, column 9: domain"},
		{"domain: d\ndomains: e\n", `line 2, column 1: file = "domains": is unknown here; write one of domain, descriptors`},
		{"domain: d\ndomain: e\n", `line 2, column 1: domain = "domain": is there twice, first in line 1; keep one`},
		{"domain: d\n1: e\n", `line 2, column 1: file = 1: is unknown`},
		{"domain: d\n? [a]\n: e\n", `line 2, column 3: file = "[...]": is unknown`},
		{"domain: d\n<<: {a: b}\n", `line 2, column 1: file = "<<": is unknown`},
		{"domain: d\ndescriptors: {key: a}\n", `line 2, column 14: descriptors = "{...}": must be a list`},
		{"domain: d\ndescriptors: a\n", `line 2, column 14: descriptors = "a": must be a list`},
		{"domain: !!str d\n", "line 1, column 9: domain = \"d\": the tag !!str is not supported; leave it out"},
		{"domain: !x d\n", "the tag !x is not supported"},
		{"!x domain: d\n", "the tag !x is not supported"},
		{"domain: &a d\n", "line 1, column 9: domain = \"d\": anchors and aliases are not supported; write the value out"},
		{"domain: d\ndescriptors: *a\n", "a.yaml: unknown anchor 'a' referenced"},
		{entry("a"), `line 3, column 5: descriptors[0] = "a": must be a mapping with key,`},
		{entry("~"), "line 3, column 5: descriptors[0]"},
		{entry("[]"), "line 3, column 5: descriptors[0]"},
		{entry("value: a"), "line 3, column 5: descriptors[0].key = \"{...}\": is required"},
		{entry("key: ''"), "descriptors[0].key"},
		{entry("key: [a]"), `line 3, column 10: descriptors[0].key = "[...]": must be a text`},
		{entry("{key: a, value: {}}"), `descriptors[0].value = "{...}": must be a text`},
		{entry("{key: a, unit: second}"), `line 3, column 14: descriptors[0] = "unit": is unknown here`},
		{entry("{key: a, quota_mode: true}"), `line 3, column 14: descriptors[0] = "quota_mode": is unknown here`},
		{entry("{key: a, shadow_mode: true}"), "is for an entry that has a rate_limit itself"},
		{entry("{key: a, shadow_mode: yes, rate_limit: {unlimited: true}}"), "must be true or false"},
		{entry("{key: a, shadow_mode: 1, rate_limit: {unlimited: true}}"), "must be true or false"},
		{entry("{key: a, share_threshold: true}"), "line 3, column 31: descriptors[0].share_threshold = \"true\": is for values with a *"},
		{entry("{key: a, value: b, share_threshold: true}"), "is for values with a *"},
		{entry("{key: a, detailed_metric: x}"), "must be true or false"},
		{entry("{key: a, value_to_metric: []}"), "must be true or false"},
		{entry("key: a\n  - key: a"), `line 4, column 5: descriptors[1] = "{...}": has the same key and value as the entry in line 3; keep one`},
		{entry("{key: a, value: b*}\n  - {key: a, value: b*}"), "has the same key and value"},
		{entry("{key: a, value: ''}\n  - {key: a}"), "has the same key and value"},
		{entry("{key: a, rate_limit: }"), `descriptors[0].rate_limit = "": must be a mapping with unit,`},
		{entry("{key: a, rate_limit: 5/s}"), `descriptors[0].rate_limit = 5/s: must be a mapping`},
		{limit("unit: second"), "line 3, column 29: descriptors[0].rate_limit.requests_per_unit = \"{...}\": is required; 0 lets nothing pass"},
		{limit("requests_per_unit: 5"), "rate_limit.unit = \"{...}\": must be second, minute, hour, day, week, month or year"},
		{limit("unit: seconds, requests_per_unit: 5"), "line 3, column 36: descriptors[0].rate_limit.unit = \"seconds\": must be second"},
		{limit("unit: unknown, requests_per_unit: 5"), "must be second"},
		{limit("unit: [second], requests_per_unit: 5"), "must be a text"},
		{limit("unit: second, requests_per_unit: -1"), "rate_limit.requests_per_unit = -1: must be a whole number from 0 to 4294967295"},
		{limit("unit: second, requests_per_unit: 1.5"), "must be a whole number"},
		{limit("unit: second, requests_per_unit: 1e3"), "must be a whole number"},
		{limit("unit: second, requests_per_unit: 0x10"), "must be a whole number"},
		{limit("unit: second, requests_per_unit: '5'"), "must be a whole number"},
		{limit("unit: second, requests_per_unit: 4294967296"), "must be a whole number"},
		{limit("unit: second, requests_per_unit: 99999999999999999999999"), "must be a whole number"},
		{limit("unit: second, requests_per_unit: .nan"), "must be a whole number"},
		{limit("unit: second, requests_per_unit: ~"), "must be a whole number"},
		{limit("unit: second, requests_per_unit: {}"), "must be a whole number"},
		{limit("unit: day, requests_per_unit: 1073741825"), "line 3, column 60: descriptors[0].rate_limit.requests_per_unit = 1073741825: must be at most 1073741824 in a window"},
		{limit("unit: second, requests_per_unit: 4294967295, burst: 5"), "must be at most 2e9 a second"},
		{limit("unit: week, requests_per_unit: 6"), "must be at least one a day"},
		{limit("unit: day, requests_per_unit: 1, burst: 366"), "line 3, column 70: descriptors[0].rate_limit.burst = 366: must refill within 365d"},
		{limit("unit: second, requests_per_unit: 5, burst: 0"), "rate_limit.burst = 0: must be above zero; leave it out to count in windows"},
		{limit("unit: second, requests_per_unit: 5, burst: -1"), "must be a whole number"},
		{limit("unit: second, requests_per_unit: 0, burst: 1"), "rate_limit.burst = 1: must be left out where requests_per_unit is 0"},
		{limit("unlimited: true, unit: second"), "rate_limit.unit = \"second\": must be left out of an unlimited rate_limit"},
		{limit("unlimited: true, requests_per_unit: 5"), "must be left out of an unlimited"},
		{limit("unlimited: true, burst: 5"), "must be left out of an unlimited"},
		{limit("unlimited: maybe"), "must be true or false"},
		{limit("unlimited: true, replaces: {name: a}"), "must be a list"},
		{limit("unlimited: true, replaces: [a]"), `rate_limit.replaces[0] = "a": must be a mapping with name`},
		{limit("unlimited: true, replaces: [{name: ''}]"), "is required: the name of the limit to replace"},
		{limit("unlimited: true, replaces: [{}]"), "is required: the name of the limit to replace"},
		{limit("unlimited: true, replaces: [{nam: a}]"), "is unknown here; write one of name"},
		{limit("unlimited: true, name: a, replaces: [{name: a}]"), "is this limit's own name"},
		{limit("unlimited: true, shadow_mode: true"), `"shadow_mode": is unknown here`},
	} {
		err := envoyrls.Check(filesOf(tt.text)...)
		require.Error(t, err, tt.text)
		require.ErrorContains(t, err, tt.want, tt.text)
		for _, line := range strings.Split(err.Error(), "\n") {
			require.True(t, strings.HasPrefix(line, "a.yaml: "), line)
		}
	}
}

func TestAllFaultsOfAllFiles(t *testing.T) {
	err := envoyrls.Check(filesOf("domain: d\nx: 1\ny: 2\n", "domain: d\n", limit("unit: x, requests_per_unit: y, foo: z"), "\t")...)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, 8, err.Error())
	require.Contains(t, err.Error(), "b.yaml: line 1, column 9: domain = \"d\": is also that of a.yaml; each domain has one file")

	err = envoyrls.Check(filesOf("domain: d\n" + strings.Repeat("x: 1\n", 50_000))...)
	lines = strings.Split(err.Error(), "\n")
	require.Len(t, lines, 101)
	require.Contains(t, lines[100], "and more faults; mend these first")
}

func TestReplacingInACircle(t *testing.T) {
	limits := func(pairs ...string) string {
		var b strings.Builder
		b.WriteString("domain: d\ndescriptors:\n")
		for i := 0; i < len(pairs); i += 2 {
			b.WriteString("  - {key: k" + string(rune('a'+i)) + ", rate_limit: {unlimited: true, name: " + pairs[i] + ", replaces: [{name: " + pairs[i+1] + "}]}}\n")
		}
		return b.String()
	}
	require.NoError(t, envoyrls.Check(filesOf(limits("a", "b", "b", "c", "d", "c"))...))
	require.NoError(t, envoyrls.Check(filesOf(limits("a", "nobody"))...))
	for _, text := range []string{
		limits("a", "b", "b", "a"), limits("a", "b", "b", "c", "c", "a"), limits("x", "a", "a", "b", "b", "a"),
	} {
		require.ErrorContains(t, envoyrls.Check(filesOf(text)...), "lead to limits that replace each other")
	}
}

func TestWhatIsRead(t *testing.T) {
	for _, text := range []string{
		"domain: d", "domain: d\ndescriptors:\n", "domain: d\ndescriptors: []\n", "---\ndomain: d\n...\n",
		`{"domain": "d", "descriptors": [{"key": "a", "rate_limit": {"unit": "DAY", "requests_per_unit": 1}}]}`,
		entry("{key: 1, value: 404, rate_limit: {unit: second, requests_per_unit: 7, name: 5}}"),
		entry("{key: true, value: 2020-01-01, detailed_metric: True, value_to_metric: FALSE}"),
		entry("{key: a, value: ~, descriptors: ~}"),
		entry(`{key: "a\0b", value: "é;=%#"}`),
		limit("unit: second, requests_per_unit: 0"),
		limit("unlimited: false, unit: second, requests_per_unit: 1, replaces: []"),
	} {
		require.NoError(t, envoyrls.Check(filesOf(text)...), text)
	}
	s := start(t, entry("{key: 1, value: 404, rate_limit: {unit: second, requests_per_unit: 2}}"))
	s.passes(2, "d", of("1", "404"))
}

func TestCheckNamesEveryFile(t *testing.T) {
	err := envoyrls.Check()
	require.EqualError(t, err, "no files; give at least one, with a domain")
	err = envoyrls.Check(envoyrls.File{Name: "x", Text: nil}, envoyrls.File{Name: "y", Text: nil})
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	require.Len(t, joined.Unwrap(), 2)
}
