package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/numeral"
)

// flow is a small history with everything in it: two endpoints, ties, runs.
func flow() *Collector {
	c := NewCollector(2)
	add := func(at int64, key, endpoint string, allowed bool) {
		o := Outcome{At: at, Key: key, Endpoint: endpoint, Allowed: allowed}
		if !allowed {
			o.Reason = "limited"
		}
		c.Add(o)
	}
	add(1, "a", "new", true)
	add(2, "a", "new", false)
	add(3, "a", "cancel", true) // does not break a's run on new
	add(4, "b", "new", false)   // nor does b
	add(5, "a", "new", false)
	add(6, "b", "new", false)
	add(7, "a", "new", true) // ends it
	add(8, "a", "new", false)
	add(9, "c", "new", false)
	add(2e9, "c", "new", true)
	return c
}

func TestCollect(t *testing.T) {
	r := flow().Report()
	require.EqualValues(t, 1, r.FirstNS)
	require.EqualValues(t, 2e9, r.LastNS)
	require.Len(t, r.Endpoints, 2)

	n := r.Endpoints[0]
	require.Equal(t, "new", n.Endpoint)
	require.Equal(t, []int64{9, 3, 6}, []int64{n.Requests, n.Allowed, n.Denied})
	require.InDelta(t, 6.0/9, n.DenyRate, 1e-6)
	require.EqualValues(t, 8, n.Peak)
	require.EqualValues(t, 9, n.PeakNS)
	// a got to two first, at 5; b at 6.
	require.Equal(t, Run{Length: 2, Key: "a", Endpoint: "new", FirstNS: 2}, n.LongestRun)
	require.Equal(t, []KeyShare{{"a", 5, 3, 0.5}, {"b", 2, 2, 0.333333}}, n.WorstKeys)
	require.Equal(t, map[string]int64{"limited": 6}, n.Reasons)

	require.EqualValues(t, 9, r.Total.Peak)
	require.Equal(t, n.LongestRun, r.Total.LongestRun)
	require.Equal(t, []KeyShare{{"a", 6, 3, 0.5}, {"b", 2, 2, 0.333333}}, r.Total.WorstKeys)
	require.Empty(t, r.Endpoints[1].WorstKeys)
	require.Equal(t, Run{}, r.Endpoints[1].LongestRun)
}

func TestOrderOfTies(t *testing.T) {
	for range 20 { // maps start anywhere
		c := NewCollector(10)
		for _, name := range []string{"d", "b", "a", "c"} {
			c.Add(Outcome{Key: "k" + name, Endpoint: name, Reason: "limited"})
			c.Add(Outcome{Key: "k" + name, Endpoint: "all", Reason: "limited"})
		}
		var endpoints, keys []string
		for _, e := range c.Report().Endpoints {
			endpoints = append(endpoints, e.Endpoint)
		}
		for _, k := range c.Report().Total.WorstKeys {
			keys = append(keys, k.Key)
		}
		require.Equal(t, []string{"all", "a", "b", "c", "d"}, endpoints)
		require.Equal(t, []string{"ka", "kb", "kc", "kd"}, keys)
	}
}

func TestText(t *testing.T) {
	r := flow().Report()
	r.Inputs = []Input{{File: "x.csv", Format: "csv", Lines: 12, Requests: 10, Malformed: 1, Backwards: 2, Skipped: 1}}
	r.Policies = []Policy{{"new", []string{"1/s", "5/m"}}}
	r.Gate = Gate{MaxKeys: 5000, ForcedEvictions: 3}
	var b strings.Builder
	require.NoError(t, WriteText(&b, &r))
	require.Equal(t, `replayed  10 requests, 00:00:00.000 to 00:00:02.000
input     x.csv (csv): 12 lines, 10 requests, 1 no request, 1 malformed, 2 backwards in time
policy    new: 1/s; 5/m
denied    limited 6
note      3 keys were dropped before they had recovered: raise --max-keys (now 5,000)

ENDPOINT  REQUESTS  ALLOWED  DENIED  DENY RATE  PEAK IN 1 S  LONGEST RUN OF DENIALS
new              9        3       6     66.67%            8  2 by a
cancel           1        1       0      0.00%            1  none
total           10        4       6     60.00%            9  2 by a on new

WORST KEYS ON  KEY  DENIED  SHARE OF DENIALS  REQUESTS
total          a         3            50.00%         6
               b         2            33.33%         2
new            a         3            50.00%         5
               b         2            33.33%         2
`, b.String())
}

func TestTextIsBounded(t *testing.T) {
	c := NewCollector(1)
	for i := range 300 {
		c.Add(Outcome{Key: "k", Endpoint: numeral.Comma(int64(i)), Reason: "limited"})
	}
	r := c.Report()
	var b strings.Builder
	require.NoError(t, WriteText(&b, &r))
	require.Contains(t, b.String(), "and 200 endpoints more: --json lists all\n")
	require.Contains(t, b.String(), "and those of 280 endpoints more: --json lists all\n")
	require.Less(t, strings.Count(b.String(), "\n"), 140)
}

func TestJSON(t *testing.T) {
	r := flow().Report()
	var b strings.Builder
	require.NoError(t, WriteJSON(&b, &r))
	var back Report
	require.NoError(t, json.Unmarshal([]byte(b.String()), &back))
	require.Equal(t, r.Total.Denied, back.Total.Denied)
	require.Equal(t, r.Endpoints[0].WorstKeys, back.Endpoints[0].WorstKeys)
	require.NotContains(t, b.String(), "null", "lists are lists, also empty ones")
}

const hostile = `</title></svg><script>alert(1)</script>" onload="x`

func TestHTML(t *testing.T) {
	c := flow()
	c.Add(Outcome{At: 3e9, Key: hostile, Endpoint: hostile, Reason: "limited"})
	r := c.Report()
	r.Inputs = []Input{{File: hostile, Format: "csv"}}
	r.Policies = []Policy{{hostile, []string{hostile}}}
	var b strings.Builder
	require.NoError(t, WriteHTML(&b, &r))
	page := b.String()

	require.NotContains(t, page, "<script", "what was recorded is text")
	require.NotContains(t, page, `" onload="`)
	plain := strings.ReplaceAll(page, "http-equiv", "")
	for _, outside := range []string{"http", "//", "src=", "href", "url(", "@import", "<link", "<iframe", "<img"} {
		require.NotContains(t, plain, outside, "the page needs nothing but itself")
	}
	for _, needed := range []string{"prefers-color-scheme: dark", "width=device-width", `lang="en"`, `role="img"`} {
		require.Contains(t, page, needed)
	}
	// One plot in total and one per endpoint, each named, described and with a table.
	require.Equal(t, 4, strings.Count(page, "<svg "))
	require.Equal(t, 4, strings.Count(page, "<desc "))
	require.Equal(t, 4, strings.Count(page, "<summary>The same as a table</summary>"))
	require.Contains(t, page, "denied")
	wellFormed(t, page)
}

// wellFormed checks that every element that is opened is closed.
func wellFormed(t *testing.T, page string) {
	d := xml.NewDecoder(strings.NewReader(page))
	d.Entity = xml.HTMLEntity
	depth := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
	}
	require.Zero(t, depth)
}

func TestHTMLIsBounded(t *testing.T) {
	c := NewCollector(1)
	for i := range int64(3000) {
		c.Add(Outcome{At: i * 1e9, Key: "k", Endpoint: numeral.Comma(i % 100), Allowed: i%2 == 0, Reason: "limited"})
	}
	r := c.Report()
	var b strings.Builder
	require.NoError(t, WriteHTML(&b, &r))
	require.Equal(t, 1+htmlCharts, strings.Count(b.String(), "<svg "))
	require.Contains(t, b.String(), "76 endpoints with fewer denials have no plot of their own")
	require.LessOrEqual(t, strings.Count(b.String(), "<rect "), (1+htmlCharts)*chartRows)
}
