package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy/venue"
)

const orders = "testdata/itch-orders.csv"

func TestVenueList(t *testing.T) {
	r := command(t, "", "replay", "--venue", "list")
	require.Equal(t, exitOK, r.status, r.stderr)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	require.Len(t, lines, len(venue.All()))
	for i, p := range venue.All() {
		require.Regexp(t, "^"+p.Name+" +", lines[i])
		require.Contains(t, lines[i], p.Venue)
	}
}

func TestVenueUnknown(t *testing.T) {
	r := command(t, "", "replay", "--venue", "nasdaq", orders)
	require.Equal(t, exitUsage, r.status)
	require.Empty(t, r.stdout)
	lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
	require.Len(t, lines, 1+len(venue.All()))
	require.Equal(t, "tickgate: --venue nasdaq: no such venue; write one of these names:", lines[0])
	require.Contains(t, r.stderr, "tickgate: cme-ilink")
}

func TestVenueBadUsage(t *testing.T) {
	refused(t, exitUsage, "--venue and --policies: give one of them", "", "replay", "--venue", "okx", "--policies", "testdata/trading.json", orders)
	refused(t, exitUsage, "--guard -1ms: must be 0 to 1m0s", "", "replay", "--venue", "okx", "--guard=-1ms", orders)
	refused(t, exitUsage, "--guard", "", "replay", "--venue", "okx", "--guard", "soon", orders)
	refused(t, exitUsage, `expected "<file> ..."`, "", "replay", "--venue", "okx")
	refused(t, exitFailed, "--set: order.cancel = 1/s: no message of hkex-ocgc draws on it; its counts are message", "",
		"replay", "--venue", "hkex-ocgc", "--set", "order.cancel=1/s", orders)
	refused(t, exitFailed, "--set: message = ", "", "replay", "--venue", "hkex-ocgc", "--set", "message=0/s", orders)
}

// Two messages of any kind in a second of the clock.
func TestVenueReplay(t *testing.T) {
	const text = "1000000000100000000,a,order.new\n1000000000200000000,a,order.cancel\n1000000000990000000,a,order.replace\n" +
		"1000000001000000000,a,order.new\n1000000001000000001,b,order.new\n1000000001000000002,a,order.mass\n"
	r := command(t, text, "replay", "--json", "--venue", "hkex-ocgc", "-")
	require.Equal(t, exitOK, r.status, r.stderr)
	var report struct {
		Venue struct {
			Name, Venue, Source, Read string
			Guard                     int64 `json:"guard_ns"`
			Messages                  []struct {
				Class string
				Draws []string
			}
		}
		Policies []struct{ Endpoint string }
		Total    struct {
			Allowed, Denied int64
			Reasons         map[string]int64 `json:"denied_by_reason"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &report))
	require.Equal(t, "hkex-ocgc", report.Venue.Name)
	require.Equal(t, "November 2026", report.Venue.Read)
	require.NotEmpty(t, report.Venue.Source)
	require.Zero(t, report.Venue.Guard)
	require.Equal(t, "order.new", report.Venue.Messages[0].Class)
	require.Equal(t, []string{"1 of message"}, report.Venue.Messages[0].Draws)
	require.Len(t, report.Policies, 1)
	require.EqualValues(t, 4, report.Total.Allowed)
	require.Equal(t, map[string]int64{"limited": 1, "no policy": 1}, report.Total.Reasons)

	// With a guard the second of the venue's clock ends later.
	r = command(t, text, "replay", "--venue", "hkex-ocgc", "--guard", "10ms", "-")
	require.Equal(t, exitOK, r.status, r.stderr)
	require.Contains(t, r.stdout, "venue     HKEX securities market, OCG-C order entry (hkex-ocgc), as documented in November 2026: HKEX Orion")
	require.Contains(t, r.stdout, "; guarded against 10ms of jitter\n")
	require.Contains(t, r.stdout, "2/s aligned skew=10ms name=messages-1s")
	require.Contains(t, r.stdout, "denied    limited 2, no policy 1\n")

	// An account with another limit than the documented one.
	r = command(t, text, "replay", "--venue", "hkex-ocgc", "--set", "message=10/s aligned", "-")
	require.Equal(t, exitOK, r.status, r.stderr)
	require.Contains(t, r.stdout, "denied    no policy 1\n")
}

// A message that draws on several counts, some by the recorded cost.
func TestVenueCosts(t *testing.T) {
	r := command(t, "5,a,query,5990\n6,a,order.new,1\n7,a,query,10\n8,a,query,1\n", "replay", "--venue", "binance-spot", "-")
	require.Equal(t, exitOK, r.status, r.stderr)
	require.Contains(t, r.stdout, "query takes the recorded cost of weight, 1 of request\n")
	require.Regexp(t, `(?m)^query +3 +2 +1 `, r.stdout)
	require.Regexp(t, `(?m)^order.new +1 +1 +0 `, r.stdout)
}

func TestVenueEveryPreset(t *testing.T) {
	for _, p := range venue.All() {
		r := command(t, "", "replay", "--venue", p.Name, "--guard", "10ms", orders)
		require.Equal(t, exitOK, r.status, r.stderr)
		require.Contains(t, r.stdout, p.Source)
		for _, class := range []string{"order.new", "order.replace", "order.cancel"} {
			if _, known := p.Message(class); known {
				require.Regexp(t, `(?m)^`+class+` +[0-9,]+ +[1-9]`, r.stdout, p.Name)
			}
		}
	}
}

func TestGuardOfPolicies(t *testing.T) {
	r := command(t, oneRequest, "replay", "--set", "x=10/s rolling", "--guard", "10ms", "-")
	require.Equal(t, exitOK, r.status, r.stderr)
	require.Contains(t, r.stdout, "x: 10/s rolling skew=10ms")
}
