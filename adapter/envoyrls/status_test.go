package envoyrls_test

import (
	"math"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tickgate/tickgate/adapter/envoyrls"
)

const perUser = `{domain: d, descriptors: [{key: user, rate_limit: {unit: minute, requests_per_unit: 10, name: users}}]}`

func TestStatusTellsTheLimit(t *testing.T) {
	s := start(t, perUser)
	s.clock.Advance(20 * time.Second)
	status := s.ask("d", of("user", "a")).GetStatuses()[0]
	require.Equal(t, "users", status.GetCurrentLimit().GetName())
	require.EqualValues(t, 10, status.GetCurrentLimit().GetRequestsPerUnit())
	require.Equal(t, ratelimitv3.RateLimitResponse_RateLimit_MINUTE, status.GetCurrentLimit().GetUnit())
	require.EqualValues(t, 9, status.GetLimitRemaining())
	require.Equal(t, 40*time.Second, status.GetDurationUntilReset().AsDuration(), "to the end of the minute")
	s.clock.Advance(40 * time.Second)
	require.EqualValues(t, 10, s.left("d", of("user", "a")))
}

func TestHits(t *testing.T) {
	s := start(t, perUser)
	user := of("user", "a")
	ask := func(hits uint32, d *descriptor) code {
		a, err := s.send(&ratelimitv3.RateLimitRequest{Domain: "d", HitsAddend: hits, Descriptors: []*descriptor{d}})
		require.NoError(t, err)
		return a.GetOverallCode()
	}
	require.Equal(t, ok, ask(0, user))
	require.EqualValues(t, 9, s.left("d", user), "unset is 1")
	require.Equal(t, ok, ask(4, user))
	require.EqualValues(t, 5, s.left("d", user))
	require.Equal(t, ok, ask(4, adding(2, user)))
	require.EqualValues(t, 3, s.left("d", user), "its own overrides that of the request")
	require.Equal(t, ok, ask(4, adding(0, user)))
	require.EqualValues(t, 3, s.left("d", user), "0 looks")
	require.Equal(t, over, ask(4, user))
	require.EqualValues(t, 3, s.left("d", user), "all of the hits, or none")
	for _, huge := range []uint64{math.MaxUint32, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64} {
		require.Equal(t, over, ask(1, adding(huge, user)))
		require.Equal(t, []code{over, over}, s.codes("d", adding(huge, user), adding(huge, user)), "their sum does not wrap")
	}
	require.Equal(t, over, ask(math.MaxUint32, user))
	require.Equal(t, ok, ask(3, user))
	require.Equal(t, over, ask(1, adding(0, user)), "nothing is left to look at")
	require.EqualValues(t, 10, s.left("d", of("user", "b")), "a key that was never seen is full")
	require.EqualValues(t, 1, s.Gate().Stats().Size, "and is not brought in by a look")
}

func TestNegativeHitsGiveBack(t *testing.T) {
	s := start(t, perUser)
	user := of("user", "a")
	s.ask("d", adding(8, user))
	require.Equal(t, []code{ok}, s.codes("d", giving(3, user)))
	require.EqualValues(t, 5, s.left("d", user))
	require.Equal(t, []code{ok}, s.codes("d", giving(math.MaxUint64, user)))
	require.EqualValues(t, 10, s.left("d", user), "down to nothing used, and no further")
	s.passes(10, "d", user)
	require.Equal(t, []code{over, ok}, s.codes("d", user, giving(5, user)), "a request that is over limit gives nothing")
	s.passes(0, "d", user)
}

func TestBurstIsTheCapacity(t *testing.T) {
	s := start(t, `{domain: d, descriptors: [{key: user, rate_limit: {unit: minute, requests_per_unit: 60, burst: 5}}]}`)
	user := of("user", "a")
	s.passes(5, "d", user)
	status := s.ask("d", user).GetStatuses()[0]
	require.EqualValues(t, 60, status.GetCurrentLimit().GetRequestsPerUnit())
	require.Equal(t, 5*time.Second, status.GetDurationUntilReset().AsDuration())
	s.clock.Advance(time.Second - 1)
	s.passes(0, "d", user)
	s.clock.Advance(1)
	s.passes(1, "d", user)
	s.clock.Advance(time.Hour)
	s.passes(5, "d", user)
}

func TestUnits(t *testing.T) {
	for unit, per := range map[string]time.Duration{
		"second": time.Second, "minute": time.Minute, "HOUR": time.Hour, "Day": 24 * time.Hour,
		"week": 7 * 24 * time.Hour, "month": 30 * 24 * time.Hour, "year": 365 * 24 * time.Hour,
	} {
		s := start(t, `{domain: d, descriptors: [{key: user, rate_limit: {unit: `+unit+`, requests_per_unit: 400}}]}`)
		s.ask("d", adding(400, of("user", "a")))
		s.clock.Advance(per - 1)
		require.Equal(t, []code{over}, s.codes("d", of("user", "a")), unit)
		s.clock.Advance(1)
		require.Equal(t, []code{ok}, s.codes("d", of("user", "a")), unit)
	}
}

func TestLimitRemainingIsClamped(t *testing.T) {
	s := start(t, `{domain: d, descriptors: [{key: user, rate_limit: {unit: day, requests_per_unit: 4294967295, burst: 4294967295}}]}`)
	require.Equal(t, uint32(math.MaxUint32), s.left("d", of("user", "a")))
	require.Equal(t, uint32(math.MaxUint32-1), s.ask("d", of("user", "a")).GetStatuses()[0].GetLimitRemaining())
}

func TestUnlimitedReplaces(t *testing.T) {
	s := start(t, `{domain: d, descriptors: [
		{key: user, rate_limit: {unit: minute, requests_per_unit: 1, name: users}},
		{key: staff, rate_limit: {unlimited: true, replaces: [{name: users}]}}]}`)
	for range 5 {
		require.Equal(t, []code{ok, ok}, s.codes("d", of("user", "a"), of("staff", "yes")))
	}
	s.passes(1, "d", of("user", "a"))
}

func TestHeaders(t *testing.T) {
	text := `{domain: d, descriptors: [
		{key: user, rate_limit: {unit: minute, requests_per_unit: 10}},
		{key: host, rate_limit: {unit: hour, requests_per_unit: 3}},
		{key: seen, rate_limit: {unit: hour, requests_per_unit: 1}, shadow_mode: true},
		{key: free, rate_limit: {unlimited: true}}]}`
	s := startWith(t, envoyrls.Config{Headers: envoyrls.DefaultHeaders()}, text)
	s.clock.Advance(500 * time.Millisecond)
	of3 := func(d ...*descriptor) map[string]string {
		headers := map[string]string{}
		for _, h := range s.ask("d", d...).GetResponseHeadersToAdd() {
			headers[h.GetKey()] = h.GetValue()
		}
		return headers
	}
	require.Equal(t, map[string]string{"RateLimit-Limit": "10", "RateLimit-Remaining": "9", "RateLimit-Reset": "60"},
		of3(of("user", "a")))
	tight := map[string]string{"RateLimit-Limit": "3", "RateLimit-Remaining": "2", "RateLimit-Reset": "3600"}
	require.Equal(t, tight, of3(of("user", "a"), of("host", "a"), of("seen", "a"), of("free", "a")), "the tightest that is enforced")
	require.Empty(t, of3(of("free", "a")))
	require.Empty(t, of3(of("none", "a")))

	s = startWith(t, envoyrls.Config{Headers: envoyrls.Headers{Remaining: "x-left"}}, text)
	require.Equal(t, map[string]string{"x-left": "0"}, of3(adding(10, of("user", "a"))))
	s = start(t, text)
	require.Empty(t, of3(of("user", "a")))
}

func TestRequestHitsNeverReachDescriptorsWithTheirOwn(t *testing.T) {
	s := start(t, perUser)
	_, err := s.send(&ratelimitv3.RateLimitRequest{Domain: "d", HitsAddend: 7, Descriptors: []*descriptor{
		{Entries: of("user", "a").Entries, HitsAddend: wrapperspb.UInt64(1)}, of("user", "b"),
	}})
	require.NoError(t, err)
	require.EqualValues(t, 9, s.left("d", of("user", "a")))
	require.EqualValues(t, 3, s.left("d", of("user", "b")))
}
