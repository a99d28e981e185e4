package envoyrls_test

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

const shadowed = `{domain: d, descriptors: [
	{key: user, rate_limit: {unit: day, requests_per_unit: 10}},
	{key: host, rate_limit: {unit: day, requests_per_unit: 3}},
	{key: seen, rate_limit: {unit: day, requests_per_unit: 5}, shadow_mode: true}]}`

func TestDenialTakesNothing(t *testing.T) {
	s := start(t, shadowed)
	user, host, seen := of("user", "a"), of("host", "a"), of("seen", "a")
	for range 3 {
		require.Equal(t, []code{ok, ok, ok}, s.codes("d", user, host, seen))
	}
	for range 20 {
		require.Equal(t, []code{ok, over, ok}, s.codes("d", user, host, seen))
	}
	require.EqualValues(t, 7, s.left("d", user))
	require.Zero(t, s.left("d", host))
	require.EqualValues(t, 2, s.left("d", seen), "a request that was refused has not happened for a shadow limit either")
	require.Zero(t, s.Stats().ShadowDenied)
	require.EqualValues(t, 20+1, s.Stats().OverLimit, "and one look at the host")

	for range 4 {
		require.Equal(t, []code{ok, ok}, s.codes("d", user, seen), "a shadow limit holds nobody up")
	}
	require.EqualValues(t, 2, s.Stats().ShadowDenied)
	require.EqualValues(t, 3, s.left("d", user))
	require.Equal(t, []code{over, ok}, s.codes("d", adding(4, user), of("host", "b")), "what is over is the one that lacks")
	require.Equal(t, []code{ok, ok}, s.codes("d", adding(3, user), of("host", "b")))
	require.Equal(t, []code{over, over}, s.codes("d", user, host), "both lack")
	require.Equal(t, []code{over, ok}, s.codes("d", adding(0, user), of("host", "b")), "a look denies too, before anything is taken")
	require.EqualValues(t, 2, s.left("d", of("host", "b")))
}

func TestDenialsAreCountedByTheGate(t *testing.T) {
	s := start(t, shadowed)
	for range 13 {
		s.ask("d", of("user", "a"))
	}
	for range 9 {
		s.ask("d", of("seen", "a"))
	}
	require.EqualValues(t, 10, allowed(s, "d;user"))
	for _, p := range s.Gate().Stats().Policies {
		switch p.Endpoint {
		case "d;user":
			require.EqualValues(t, 3, p.Denied)
		case "d;seen":
			require.EqualValues(t, 4, p.Shadowed)
			require.Zero(t, p.Denied)
		}
	}
}

func TestSameKeyTwice(t *testing.T) {
	s := start(t, shadowed)
	user := of("user", "a")
	require.Equal(t, []code{ok, ok}, s.codes("d", user, adding(3, user)))
	require.EqualValues(t, 6, s.left("d", user))
	require.Equal(t, []code{over, over, ok}, s.codes("d", adding(3, user), adding(4, user), of("user", "b")), "their sum is asked for")
	require.EqualValues(t, 6, s.left("d", user))
	require.Equal(t, []code{ok, ok}, s.codes("d", adding(0, user), adding(6, user)), "a look beside a take is that take")
	require.Equal(t, []code{ok, ok}, s.codes("d", of("seen", "a"), adding(7, of("seen", "a"))))
	require.EqualValues(t, 1, s.Stats().ShadowDenied)
}

// users are n descriptors of different keys.
func users(n int) (ds []*descriptor) {
	for i := range n {
		ds = append(ds, of("user", strconv.Itoa(i)))
	}
	return ds
}

// More keys than one group holds.
func TestManyDescriptors(t *testing.T) {
	for _, n := range []int{8, 9, 16, 17, 100, 1000} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			s := start(t, shadowed)
			s.passes(10, "d", users(n)...)
			s = start(t, shadowed)
			for _, at := range []int{0, n / 2, n - 1} {
				ds := users(n)
				ds[at] = of("host", strconv.Itoa(at))
				s.ask("d", adding(3, ds[at]))
				for range 3 {
					got := s.codes("d", ds...)
					for i := range got {
						require.Equal(t, i == at, got[i] == over, "descriptor %d", i)
					}
				}
			}
			for _, d := range users(n) {
				require.EqualValues(t, 10, s.left("d", d))
			}
			require.Zero(t, allowed(s, "d;user"), "what lacks is asked first: nothing had to be given back")
		})
	}
}

// allowed is how often the gate let a limit pass.
func allowed(s *service, endpoint string) (n uint64) {
	for _, p := range s.Gate().Stats().Policies {
		if p.Endpoint == endpoint {
			n = p.Allowed
		}
	}
	return n
}

// Many at once: what passes is what was there, and what is refused takes nothing. The
// requests of more than one group give back what they took before a denial.
func TestConcurrentRequests(t *testing.T) {
	for _, n := range []int{1, 2, 8, 20} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			s := start(t, `{domain: d, descriptors: [
				{key: user, rate_limit: {unit: day, requests_per_unit: 60}},
				{key: firm, value: one, rate_limit: {unit: day, requests_per_unit: 50}},
				{key: seen, rate_limit: {unit: day, requests_per_unit: 10}, shadow_mode: true}]}`)
			var passed, refused atomic.Int64
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 25 {
						ds := append(users(n), of("firm", "one"), of("seen", "x"))
						if s.ask("d", ds...).GetOverallCode() == ok {
							passed.Add(1)
						} else {
							refused.Add(1)
						}
					}
				})
			}
			wg.Wait()
			require.EqualValues(t, 50, passed.Load())
			require.EqualValues(t, 150, refused.Load())
			for _, d := range users(n) {
				require.EqualValues(t, 10, s.left("d", d))
			}
			require.EqualValues(t, 40, s.Stats().ShadowDenied)
		})
	}
}

func TestMatching(t *testing.T) {
	s := start(t, `{domain: d, descriptors: [
		{key: path, rate_limit: {unit: day, requests_per_unit: 1}},
		{key: path, value: /api/exact, rate_limit: {unit: day, requests_per_unit: 2}},
		{key: path, value: /api/*, rate_limit: {unit: day, requests_per_unit: 3}},
		{key: path, value: /api/v*/users/*/x, rate_limit: {unit: day, requests_per_unit: 4}},
		{key: path, value: "*.html", rate_limit: {unit: day, requests_per_unit: 5}},
		{key: path, value: /v*/users/*/x, rate_limit: {unit: day, requests_per_unit: 6}},
		{key: any, value: "*", rate_limit: {unit: day, requests_per_unit: 7}},
		{key: nest, value: "a*", descriptors: [{key: in, rate_limit: {unit: day, requests_per_unit: 8}}]},
		{key: nest, descriptors: [{key: in, rate_limit: {unit: day, requests_per_unit: 9}}, {key: only, rate_limit: {unit: day, requests_per_unit: 10}}]},
		{key: a=b, value: c;d, rate_limit: {unit: day, requests_per_unit: 11}},
		{key: a, value: b=c;d, rate_limit: {unit: day, requests_per_unit: 12}}]}`)
	for _, tt := range []struct {
		limit int
		of    *descriptor
	}{
		{1, of("path", "/")}, {1, of("path", "")}, {1, of("path", "/API/x")},
		{2, of("path", "/api/exact")},
		{3, of("path", "/api/exactly")}, {3, of("path", "/api/")}, {3, of("path", "/api/v1/users/7/x")}, // the first in the file
		{5, of("path", "/index.html")}, {5, of("path", ".html")},
		{6, of("path", "/v1/users/7/x")}, {6, of("path", "/v/users//x/x")}, {1, of("path", "/v1/users/x")}, {1, of("path", "/v1/users/7/y")},
		{7, of("any", "")}, {7, of("any", "x")},
		{8, of("nest", "ab", "in", "x")}, {9, of("nest", "b", "in", "x")}, {10, of("nest", "b", "only", "x")},
		{11, of("a=b", "c;d")}, {12, of("a", "b=c;d")},
	} {
		s.passes(tt.limit, "d", tt.of)
	}
	s.open("d", of("nest", "ab", "only", "x")) // once an entry matches, its siblings are out
	s.open("d", of("nest", "ab"))
	s.open("d", of("Path", "/"))
	s.open("d", of("path", "/", "path", "/"))
	s.open("d", of())
	s.open("D", of("path", "/"))
}

// Values with the characters that keys are joined with.
func TestKeysAreApart(t *testing.T) {
	s := start(t, `{domain: d, descriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 1},
		descriptors: [{key: b, rate_limit: {unit: day, requests_per_unit: 1}}]}, {key: b, value: x, rate_limit: {unit: day, requests_per_unit: 1}}]}`)
	values := []string{"", "|", `\`, `\|`, `|\`, `\\`, `\e`, `\h`, "a|b", "a", "b", "\x00", "x"}
	for _, v := range values {
		s.passes(1, "d", of("a", v))
		for _, w := range values {
			s.passes(1, "d", of("a", v, "b", w))
		}
	}
	require.EqualValues(t, len(values)*(len(values)+1), s.Gate().Stats().Size, fmt.Sprint(values))
}
