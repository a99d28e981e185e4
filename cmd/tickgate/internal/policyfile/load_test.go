package policyfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const jsonText = `[
  {"endpoint": "order.new", "limits": ["4/s burst=3 name=burst", {"name": "pace", "tokens": 60, "per": "m"}], "credit": 5},
  {"endpoint": "default", "limits": ["10/s"], "shadow": true}
]`

const yamlText = `# the same
policies:
  - endpoint: order.new
    limits:
      - 4/s burst=3 name=burst
      - name: pace
        tokens: 60
        per: m
    credit: 5

  - {endpoint: "default", limits: [10/s], shadow: true}
`

func TestLoad(t *testing.T) {
	want, err := policy.ParsePolicies(strings.NewReader(jsonText))
	require.NoError(t, err)
	for name, text := range map[string]string{
		"p.json": jsonText, "p.yaml": yamlText, "p.YML": yamlText, "json": jsonText, "yaml": yamlText,
		"flow.yaml": jsonText, // JSON is YAML
	} {
		got, err := Load(write(t, name, text))
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
}

func TestLoadFaults(t *testing.T) {
	policyOf := func(limit string) string {
		return "- endpoint: default\n  limits:\n    - " + limit + "\n"
	}
	for text, reason := range map[string]string{
		"":                                    "no policies: the file is empty",
		"# nothing\n":                         "no policies: the file is empty",
		"[]\n":                                "must hold at least one policy",
		policyOf("0/s"):                       "line 3: policies[0](default).limits[0]",
		policyOf("-1/s"):                      "line 3: policies[0](default).limits[0]",
		policyOf("1e30/s"):                    "line 3: policies[0](default).limits[0]",
		policyOf("abc"):                       "line 3: policies[0](default).limits[0]",
		policyOf("{tokens: 1e30, per: s}"):    `line 3: "1e30" is not a string, a plain whole number, true or false`,
		policyOf("{tokens: 0x10, per: s}"):    `line 3: "0x10" is not a string, a plain whole number, true or false`,
		policyOf("{tokens: 1, per: s, x: 1}"): "line 3: policies[0](default).limits[0]",
		policyOf("&a 1/s"):                    "line 3: anchors and aliases are not supported",
		policyOf("!!str 1/s"):                 "line 3: the tag !!str is not supported",
		policyOf("1/s") + "- endpoint: default\n  limits: [2/s]\n": "line 4: ",
		policyOf("1/s") + "---\n" + policyOf("1/s"):                "a second document",
		"- endpoint: default\n  limits: [1/s]\n  limits: [2/s]\n":  "line 3: ",
		"- 1: default\n": "line 1: a key must be a string",
		"a: [":           "did not find expected",
		"\tx":            "cannot start any token",
	} {
		path := write(t, "p.yaml", text)
		_, err := Load(path)
		require.Error(t, err, text)
		require.Contains(t, err.Error(), reason, text)
		require.NotContains(t, err.Error(), "\n", "one fault, one line: %s", text)
		require.True(t, strings.HasPrefix(err.Error(), path+": "), err.Error())
	}
	_, err := Load(filepath.Join(t.TempDir(), "missing.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Load(write(t, "p.json", strings.Repeat(" ", policy.MaxBytes+1)))
	require.ErrorContains(t, err, "longer than")
}

func TestEveryFaultIsReported(t *testing.T) {
	_, err := Load(write(t, "p.yaml", "- endpoint: a\n  limits: [0/s]\n- endpoint: b\n  limits: [abc]\n"))
	require.Error(t, err)
	require.Len(t, strings.Split(err.Error(), "\n"), 2)
	_, err = Override(nil, []string{"a=0/s", "b"})
	require.Error(t, err)
	require.Len(t, strings.Split(err.Error(), "\n"), 2)
}

func TestOverride(t *testing.T) {
	base, err := policy.ParsePolicies(strings.NewReader(jsonText))
	require.NoError(t, err)
	set, err := Override(base, []string{"order.new=100/s burst=20", "GET /a=1/s", "order.new=6000/m"})
	require.NoError(t, err)

	p, ok := set.Lookup("order.new")
	require.True(t, ok)
	require.Len(t, p.Limits, 2, "all of the new ones, none of the old")
	require.Equal(t, "100/s burst=20", p.Limits[0].String())
	require.Equal(t, "6000/m", p.Limits[1].String())
	require.EqualValues(t, 5, p.Credit, "stays")
	_, ok = set.Lookup("GET /a")
	require.True(t, ok)

	old, _ := base.Lookup("order.new")
	require.Equal(t, "4/s burst=3 name=burst", old.Limits[0].String(), "the base is left alone")

	for _, bad := range []string{"order.new=0/s", "order.new=-1/s", "order.new=1e30/s", "order.new=abc", "order.new", "=1/s", ""} {
		_, err := Override(base, []string{bad})
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "\n", bad)
	}
	_, err = Override(base, []string{"a=1/s", "a=1/s"})
	require.ErrorContains(t, err, "--set: ", "the same limit twice")
}
