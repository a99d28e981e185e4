package envoyrls_test

import (
	"math"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
)

// The examples that the README of envoyproxy/ratelimit documents, by its numbers, with
// the requests it speaks of and some beside them.

func TestDocumented1TwoValues(t *testing.T) {
	s := start(t, `{domain: mongo_cps, descriptors: [
		{key: database, value: users, rate_limit: {unit: second, requests_per_unit: 500}},
		{key: database, value: default, rate_limit: {unit: second, requests_per_unit: 500}}]}`)
	s.passes(500, "mongo_cps", of("database", "users"))
	s.passes(500, "mongo_cps", of("database", "default"))
	s.open("mongo_cps", of("database", "other"))
	s.open("mongo_cps", of("table", "users"))
	s.open("other", of("database", "users"))
	s.clock.Advance(time.Second)
	s.passes(500, "mongo_cps", of("database", "users"))
}

func TestDocumented2Nested(t *testing.T) {
	s := start(t, `{domain: messaging, descriptors: [
		{key: message_type, value: marketing, descriptors: [{key: to_number, rate_limit: {unit: day, requests_per_unit: 5}}]},
		{key: to_number, rate_limit: {unit: day, requests_per_unit: 100}}]}`)
	marketing := func(number string) *descriptor { return of("message_type", "marketing", "to_number", number) }
	s.passes(5, "messaging", marketing("2061111111"))
	s.passes(5, "messaging", marketing("2062222222"))
	s.passes(100, "messaging", of("to_number", "2061111111"))
	s.passes(100, "messaging", of("to_number", "2062222222"))
	s.open("messaging", of("message_type", "marketing"))
	s.open("messaging", of("message_type", "alert", "to_number", "2061111111"))

	// The request with both: over limit if either is.
	third := "2063333333"
	s.passes(5, "messaging", marketing(third), of("to_number", third))
	require.Equal(t, []code{over, ok}, s.codes("messaging", marketing(third), of("to_number", third)))
	s.passes(95, "messaging", of("to_number", third)) // those refused above took nothing here
	fourth := "2064444444"
	s.passes(100, "messaging", of("to_number", fourth))
	require.Equal(t, []code{ok, over}, s.codes("messaging", marketing(fourth), of("to_number", fourth)))
	s.passes(5, "messaging", marketing(fourth))

	// Five a day: none comes back before the day is over.
	s.clock.Advance(24*time.Hour - time.Nanosecond)
	require.Equal(t, []code{over}, s.codes("messaging", marketing("2061111111")))
	s.clock.Advance(time.Nanosecond)
	s.passes(5, "messaging", marketing("2061111111"))
}

func TestDocumented3MostSpecificFirst(t *testing.T) {
	s := start(t, `{domain: edge_proxy_per_ip, descriptors: [
		{key: remote_address, rate_limit: {unit: second, requests_per_unit: 10}},
		{key: remote_address, value: 50.0.0.5, rate_limit: {unit: second, requests_per_unit: 0}}]}`)
	s.passes(10, "edge_proxy_per_ip", of("remote_address", "50.0.0.1"))
	s.passes(10, "edge_proxy_per_ip", of("remote_address", "50.0.0.2"))
	s.passes(0, "edge_proxy_per_ip", of("remote_address", "50.0.0.5"))
	s.clock.Advance(time.Hour)
	status := s.ask("edge_proxy_per_ip", of("remote_address", "50.0.0.5")).GetStatuses()[0]
	require.Equal(t, over, status.GetCode())
	require.Zero(t, status.GetLimitRemaining())
	require.Zero(t, status.GetCurrentLimit().GetRequestsPerUnit())
	require.Equal(t, ratelimitv3.RateLimitResponse_RateLimit_SECOND, status.GetCurrentLimit().GetUnit())
}

func TestDocumented4SameDepth(t *testing.T) {
	shallow := `{domain: example4, descriptors: [{key: key, value: value, rate_limit: {requests_per_unit: 300, unit: second}}]}`
	deep := `{domain: example4, descriptors: [{key: key, value: value, descriptors: [
		{key: subkey, rate_limit: {requests_per_unit: 300, unit: second}}]}]}`
	request := of("key", "value", "subkey", "subvalue")
	s := start(t, shallow)
	s.open("example4", request)
	s.passes(300, "example4", of("key", "value"))
	s = start(t, deep)
	s.passes(300, "example4", request)
	s.open("example4", of("key", "value"))
}

func TestDocumented5Unlimited(t *testing.T) {
	s := start(t, `{domain: internal, descriptors: [
		{key: ldap, rate_limit: {unlimited: true}},
		{key: azure, rate_limit: {unit: minute, requests_per_unit: 100}}]}`)
	for range 300 {
		status := s.ask("internal", of("ldap", "x")).GetStatuses()[0]
		require.Equal(t, ok, status.GetCode())
		require.EqualValues(t, uint32(math.MaxUint32), status.GetLimitRemaining())
	}
	s.passes(100, "internal", of("azure", "x"))
	require.Equal(t, []code{ok, over}, s.codes("internal", of("ldap", "x"), of("azure", "x")))
	require.Zero(t, s.ask("internal", of("aws", "x")).GetStatuses()[0].GetLimitRemaining(), "not there is not unlimited")
}

func TestDocumented6ShadowMode(t *testing.T) {
	s := start(t, `{domain: example6, descriptors: [{key: service, descriptors: [
		{key: user, value: user-a, rate_limit: {requests_per_unit: 10, unit: second}, shadow_mode: true},
		{key: user, value: user-b, rate_limit: {requests_per_unit: 20, unit: second}}]}]}`)
	for range 10 {
		s.ask("example6", of("service", "auth-service", "user", "user-a"))
	}
	require.Zero(t, s.Stats().ShadowDenied)
	for range 30 {
		status := s.ask("example6", of("service", "auth-service", "user", "user-a")).GetStatuses()[0]
		require.Equal(t, ok, status.GetCode())
		require.EqualValues(t, 10, status.GetCurrentLimit().GetRequestsPerUnit())
		require.Zero(t, status.GetLimitRemaining())
	}
	require.EqualValues(t, 30, s.Stats().ShadowDenied)
	s.passes(20, "example6", of("service", "auth-service", "user", "user-b"))
	s.open("example6", of("service", "auth-service", "user", "user-c"))
}

func TestDocumented7Replaces(t *testing.T) {
	text := `{domain: example7, descriptors: [
		{key: key_1, value: value_1, descriptors: [{key: user, value: bkthomps,
			rate_limit: {name: specific_limit, requests_per_unit: 5, unit: second}}]},
		{key: key_2, value: value_2, descriptors: [{key: user, value: bkthomps,
			rate_limit: {replaces: [{name: specific_limit}], requests_per_unit: 10, unit: second}}]}]}`
	one := of("key_1", "value_1", "user", "bkthomps")
	two := of("key_2", "value_2", "user", "bkthomps")
	s := start(t, text)
	s.passes(5, "example7", one)
	s.passes(10, "example7", two)

	s = start(t, text)
	s.passes(10, "example7", one, two) // the limit of 5 does not count
	require.Equal(t, []code{ok, over}, s.codes("example7", one, two))
	s.passes(5, "example7", one) // and nothing was taken from it
	require.Equal(t, "specific_limit", s.ask("example7", one).GetStatuses()[0].GetCurrentLimit().GetName())
}

func TestDocumented8DetailedMetric(t *testing.T) {
	s := start(t, `{domain: example8, descriptors: [
		{key: key1, detailed_metric: true, rate_limit: {unit: minute, requests_per_unit: 10}},
		{key: key1, value: value1, rate_limit: {unit: minute, requests_per_unit: 20}}]}`)
	s.passes(10, "example8", of("key1", "unspecified_value"))
	s.passes(10, "example8", of("key1", "unspecified_value2"))
	s.passes(20, "example8", of("key1", "value1"))
}

func TestDocumented9Wildcard(t *testing.T) {
	s := start(t, `{domain: example9, descriptors: [
		{key: key1, value: value*, rate_limit: {unit: minute, requests_per_unit: 20}}]}`)
	s.passes(20, "example9", of("key1", "value1"))
	s.passes(20, "example9", of("key1", "value2"))
	s.passes(20, "example9", of("key1", "value"))
	s.open("example9", of("key1", "valu"))
	s.open("example9", of("key1", "avalue1"))
}

func TestDocumented10ValueToMetric(t *testing.T) {
	s := start(t, `{domain: example10, descriptors: [{key: route, value_to_metric: true, descriptors: [
		{key: http_method, value_to_metric: true, descriptors: [
			{key: subject_id, rate_limit: {unit: minute, requests_per_unit: 60}}]}]}]}`)
	s.passes(60, "example10", of("route", "api", "http_method", "GET", "subject_id", "123"))
	s.passes(60, "example10", of("route", "web", "http_method", "POST", "subject_id", "456"))

	s = start(t, `{domain: example10_wildcard, descriptors: [{key: user, value_to_metric: true, descriptors: [
		{key: action, value: read*, value_to_metric: true, descriptors: [
			{key: resource, rate_limit: {unit: minute, requests_per_unit: 100}}]}]}]}`)
	s.passes(100, "example10_wildcard", of("user", "alice", "action", "readfile", "resource", "documents"))
	s.passes(100, "example10_wildcard", of("user", "alice", "action", "read", "resource", "documents"))
	s.open("example10_wildcard", of("user", "alice", "action", "write", "resource", "documents"))
}

func TestDocumented11ShareThreshold(t *testing.T) {
	s := start(t, `{domain: example11, descriptors: [
		{key: files, value: files/*, share_threshold: true, rate_limit: {unit: hour, requests_per_unit: 10}},
		{key: files_no_share, value: files_no_share/*, share_threshold: false, rate_limit: {unit: hour, requests_per_unit: 10}}]}`)
	for range 5 {
		require.Equal(t, []code{ok}, s.codes("example11", of("files", "files/a.pdf")))
		require.Equal(t, []code{ok}, s.codes("example11", of("files", "files/b.csv")))
	}
	require.Equal(t, []code{over}, s.codes("example11", of("files", "files/c.txt")))
	s.passes(10, "example11", of("files_no_share", "files_no_share/a.pdf"))
	s.passes(10, "example11", of("files_no_share", "files_no_share/b.csv"))

	s = start(t, `{domain: example11_metrics, descriptors: [{key: route, value: api/*, share_threshold: true, value_to_metric: true,
		descriptors: [{key: method, rate_limit: {unit: minute, requests_per_unit: 60}}]}]}`)
	for range 30 {
		s.ask("example11_metrics", of("route", "api/v1", "method", "GET"))
		s.ask("example11_metrics", of("route", "api/v2", "method", "GET"))
	}
	s.passes(0, "example11_metrics", of("route", "api/v3", "method", "GET"))
	s.passes(60, "example11_metrics", of("route", "api/v3", "method", "PUT"))
}

// The configuration of its full test environment, with the requests that the README
// makes of it through Envoy.
func TestDocumentedTestEnvironment(t *testing.T) {
	s := start(t, `---
domain: rl
descriptors:
  - {key: source_cluster, value: proxy, descriptors: [{key: destination_cluster, value: mock, rate_limit: {unit: minute, requests_per_unit: 1}}]}
  - key: foo
    rate_limit: {unit: minute, requests_per_unit: 2}
    descriptors:
      - {key: bar, rate_limit: {unit: minute, requests_per_unit: 3}}
      - {key: bar, value: banned, rate_limit: {unit: minute, requests_per_unit: 0}}
      - {key: baz, rate_limit: {unit: second, requests_per_unit: 1}}
      - {key: bay, rate_limit: {unlimited: true}}
      - {key: baz, value: shady, rate_limit: {unit: minute, requests_per_unit: 1}, shadow_mode: true}
  - {key: qux, rate_limit: {unlimited: true}}
`)
	s.passes(1, "rl", of("source_cluster", "proxy", "destination_cluster", "mock"))
	s.passes(2, "rl", of("foo", "foo"))
	s.passes(3, "rl", of("foo", "foo", "bar", "bar"))
	s.passes(1, "rl", of("foo", "foo", "baz", "not-so-shady"))
	s.passes(0, "rl", of("foo", "foo", "bar", "banned"))
	for range 20 {
		require.Equal(t, []code{ok, ok, ok}, s.codes("rl",
			of("foo", "foo", "baz", "shady"), of("foo", "foo", "bay", "bay"), of("qux", "qux")))
	}
	s.clock.Advance(time.Second)
	s.passes(1, "rl", of("foo", "foo", "baz", "not-so-shady"))
	s.passes(0, "rl", of("foo", "foo"))
}
