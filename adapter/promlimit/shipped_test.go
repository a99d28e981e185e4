package promlimit_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/tickgate/tickgate/adapter/promlimit"
	"github.com/tickgate/tickgate/idem"
)

// everything returns the name of every series that there can be.
func everything(t *testing.T) map[string]bool {
	g, _ := gateOf(t, policyOf(t, "e", "10/s"))
	s, err := promlimit.NewSampler(promlimit.SamplerConfig{})
	require.NoError(t, err)
	families, err := registryOf(collectorOf(t, promlimit.Config{
		Gate: g, Sampler: s,
		Idempotency: func() idem.StoreStats { return idem.StoreStats{} },
		Sources:     func() []promlimit.Source { return []promlimit.Source{{Name: "postgresql", Connection: "listening"}} },
		Sync:        func() promlimit.Sync { return promlimit.Sync{} },
	})).Gather()
	require.NoError(t, err)
	names := map[string]bool{}
	for _, f := range families {
		names[f.GetName()] = true
	}
	return names
}

var metric = regexp.MustCompile(`tickgate_[a-z0-9_]+`)

func TestDashboardNamesWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var board struct {
		Title  string
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, LegendFormat string }
		}
		Templating struct{ List []struct{ Name string } }
	}
	require.NoError(t, json.Unmarshal(text, &board))
	names, used, ids := everything(t), map[string]bool{}, map[int]bool{}
	require.Len(t, board.Templating.List, 4)
	for _, p := range board.Panels {
		require.False(t, ids[p.ID], p.Title)
		ids[p.ID] = true
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			found := metric.FindAllString(target.Expr, -1)
			require.NotEmpty(t, found, target.Expr)
			for _, name := range found {
				require.True(t, names[name], "%s: no series %s", p.Title, name)
				used[name] = true
			}
			require.Equal(t, strings.Count(target.Expr, "("), strings.Count(target.Expr, ")"), target.Expr)
			require.Equal(t, strings.Count(target.Expr, "{"), strings.Count(target.Expr, "}"), target.Expr)
		}
	}
	require.Greater(t, len(used), 12)
}

func TestAlertsNameWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("alerts.yaml")
	require.NoError(t, err)
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	require.NoError(t, d.Decode(&rules))
	names, seen := everything(t), map[string]bool{}
	for _, r := range rules.Groups[0].Rules {
		require.False(t, seen[r.Alert], r.Alert)
		seen[r.Alert] = true
		require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		require.Contains(t, []string{"info", "warning", "critical"}, r.Labels["severity"], r.Alert)
		found := metric.FindAllString(r.Expr, -1)
		require.NotEmpty(t, found, r.Alert)
		for _, name := range found {
			require.True(t, names[name], "%s: no series %s", r.Alert, name)
		}
	}
	require.GreaterOrEqual(t, len(seen), 10)
}

// Only a source that is looked at all the time is seen to be good again and again: of
// others, such as a file of keys, that is long ago where all is well.
func TestStaleAlertIsOfSourcesThatAreLookedAt(t *testing.T) {
	text, err := os.ReadFile("alerts.yaml")
	require.NoError(t, err)
	uses := regexp.MustCompile(`tickgate_config_last_success_timestamp_seconds(\S*)`).FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, uses)
	for _, use := range uses {
		require.Equal(t, `{source=~"file|postgresql"}`, use[1])
	}
}

// docs/metrics.md tells every series, and no other.
func TestSeriesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/metrics.md")
	require.NoError(t, err)
	told := map[string]bool{}
	for _, m := range regexp.MustCompile("`(tickgate_[a-z0-9_]+)").FindAllStringSubmatch(string(text), -1) {
		told[m[1]] = true
	}
	require.Equal(t, everything(t), told)
}
