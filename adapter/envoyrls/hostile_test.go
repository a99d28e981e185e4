package envoyrls_test

import (
	"fmt"
	"strings"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/envoyrls"
)

func TestHostileRequestsWithoutAnswer(t *testing.T) {
	s := start(t, perUser)
	override := of("user", "a")
	override.Limit = &commonv3.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 1 << 31, Unit: 1}
	for i, tt := range []struct {
		req  *ratelimitv3.RateLimitRequest
		code codes.Code
		text string
	}{
		{&ratelimitv3.RateLimitRequest{}, codes.InvalidArgument, "domain must not be empty"},
		{requestOf("", of("user", "a")), codes.InvalidArgument, "domain must not be empty"},
		{requestOf("d"), codes.InvalidArgument, "descriptors must not be empty"},
		{requestOf("d", users(1001)...), codes.InvalidArgument, "there are 1001 descriptors; at most 1000"},
		{requestOf("d", users(10_000)...), codes.InvalidArgument, "there are 10000 descriptors; at most 1000"},
		{requestOf("d", of("user", "a"), override), codes.Unimplemented, "descriptors[1].limit: overrides are not supported"},
	} {
		_, err := s.send(tt.req)
		require.Equal(t, tt.code, status.Code(err))
		require.ErrorContains(t, err, tt.text)
		require.EqualValues(t, i+1, s.Stats().Refused)
		require.EqualValues(t, i+1, s.Stats().Requests)
	}
	require.Zero(t, s.Gate().Stats().Size, "nothing was taken")
	_, err := s.send(requestOf("d", of("user", "a\xff")))
	require.Error(t, err, "protobuf refuses what is not UTF-8")

	// In the process even nil arrives.
	_, err = s.ShouldRateLimit(t.Context(), nil)
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	a, err := s.ShouldRateLimit(t.Context(), requestOf("d", nil, &descriptor{Entries: []*commonv3.RateLimitDescriptor_Entry{nil}}))
	require.NoError(t, err)
	require.Len(t, a.GetStatuses(), 2)
}

func TestHostileDescriptorsThatMatchNothing(t *testing.T) {
	s := start(t, perUser)
	deep := of()
	for range 10_000 {
		deep.Entries = append(deep.Entries, of("user", "a").Entries...)
	}
	for _, d := range []*descriptor{
		of(), of("", ""), of("user\x00", "a"), of("USER", "a"), of(strings.Repeat("user", 100_000), "a"), deep,
		of("d;user", "a"), of("user", "a", "", ""),
	} {
		s.open("d", d)
		s.open("d\x00", of("user", "a"))
		s.open("\x00", d)
	}
	require.EqualValues(t, 8*30, s.Stats().Unmatched)
	require.Zero(t, s.Gate().Stats().Size)
}

func TestHostileValues(t *testing.T) {
	s := start(t, perUser)
	long := strings.Repeat("x", 256)
	huge := strings.Repeat("y", 1<<20)
	values := []string{
		"", " ", "\x00", "\x00\x00", "\r\nX: y", "default", "*", "%", "😀", long, long + "x", long + "y", huge, huge + "y",
		strings.Repeat(`\`, 128), strings.Repeat(`\`, 129), strings.Repeat("|", 300),
	}
	for _, v := range values {
		s.passes(10, "d", of("user", v)) // each for itself
	}
	require.EqualValues(t, len(values), s.Gate().Stats().Size)
}

// What a client sends cannot take more keys than there are.
func TestHostileKeysAreBounded(t *testing.T) {
	for _, full := range []tickgate.OnFull{tickgate.EvictIdle, tickgate.RejectNew} {
		s := startWith(t, envoyrls.Config{Gate: gateWith(64, full)}, shadowed)
		s.ask("d", adding(10, of("user", "first")))
		for i := range 600 {
			id := fmt.Sprint(i)
			a := s.ask("d", of("user", id), of("host", id), of("seen", id))
			if full == tickgate.EvictIdle {
				require.Equal(t, ok, a.GetOverallCode(), "%d", i)
			}
		}
		stats := s.Gate().Stats()
		require.LessOrEqual(t, stats.Size, 64)
		if full == tickgate.RejectNew {
			require.Equal(t, []code{over}, s.codes("d", of("user", "first")), "never dropped")
			require.Equal(t, over, s.ask("d", of("user", "x"), of("host", "x")).GetOverallCode())
			require.Equal(t, []code{ok}, s.codes("d", of("seen", "x")), "a shadow limit does not deny for want of room")
			require.Zero(t, stats.Evictions.Forced)
		}
	}
}

func TestHostileBlock(t *testing.T) {
	s := start(t, shadowed)
	s.Gate().Block("a")
	require.Equal(t, []code{over}, s.codes("d", of("user", "a")))
	require.Equal(t, over, s.ask("d", of("user", "a"), of("host", "b")).GetOverallCode())
	require.Equal(t, []code{ok}, s.codes("d", of("user", "b")))
	require.EqualValues(t, 3, s.left("d", of("host", "b")))
	s.Gate().Unblock("a")
	require.EqualValues(t, 10, s.left("d", of("user", "a")))
}

func TestHostileFiles(t *testing.T) {
	nested := func(n int) string {
		return "{domain: d, descriptors: " + strings.Repeat("[{key: a, descriptors: ", n) + "[]" + strings.Repeat("}]", n) + "}"
	}
	bomb := "domain: d\na: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'i'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 8), c-1)
	}
	require.NoError(t, envoyrls.Check(filesOf(nested(32))...))
	for _, tt := range []struct{ name, text, want string }{
		{"deep", nested(33), "is nested deeper than 32 descriptors"},
		{"deeper", nested(3000), "is nested deeper than 32 descriptors"},
		{"brackets", "domain: " + strings.Repeat("[", 200_000), "max depth"},
		{"braces", "domain: " + strings.Repeat("{a: ", 200_000), "max depth"},
		{"hyphens", "domain: d\ndescriptors:\n" + strings.Repeat("- ", 20_000), ""},
		{"bomb", bomb, `line 2, column 1: file = "a": is unknown here`},
		{"bomb in place", "domain: d\ndescriptors: &a\n  - {key: x, descriptors: *a}\n", "line 2, column 14: descriptors = \"[...]\": anchors and aliases"},
		{"alias to itself", "domain: d\ndescriptors:\n  - &a {key: x, descriptors: [*a]}\n", "anchors and aliases are not supported"},
		{"alias as a key", "domain: &a descriptors\n*a : []\n", "anchors and aliases"},
		{"merge", "domain: d\ndescriptors:\n  - {<<: {key: a}}\n", `"<<": is unknown here`},
		{"NUL", "domain: d\x00\n", "control characters are not allowed"},
		{"not UTF-8", "domain: \xff\n", "a.yaml: "},
		{"UTF-16", "\xff\xfed\x00o\x00", "a.yaml: "},
		{"binary", "domain: !!binary ZA==\n", "the tag !!binary is not supported"},
		{"too long", "domain: d\n" + strings.Repeat("#", envoyrls.MaxBytes), "is longer than 4194304 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := envoyrls.Check(filesOf(tt.text)...)
			require.Error(t, err)
			require.ErrorContains(t, err, tt.want)
			require.Less(t, len(err.Error()), 40_000)
			require.NotContains(t, err.Error(), "xxxxxxxx")
		})
	}
}

func TestHostileManyLimits(t *testing.T) {
	many := func(n int, key string) string {
		var b strings.Builder
		b.WriteString("domain: d\ndescriptors:\n")
		for i := range n {
			fmt.Fprintf(&b, "- {key: %s%d, rate_limit: {unit: day, requests_per_unit: 1}}\n", key, i)
		}
		return b.String()
	}
	require.ErrorContains(t, envoyrls.Check(filesOf(many(10_001, "k"))...), "10001 limits; at most 10000")
	s := start(t, many(2000, "k"))
	s.passes(1, "d", of("k1999", "x"))
}

// Long names of limits: still apart, and still a policy's endpoint.
func TestHostileLongPaths(t *testing.T) {
	long := strings.Repeat("é", 200)
	s := start(t, "domain: "+long+"\ndescriptors:\n  - {key: "+long+", value: a, rate_limit: {unit: day, requests_per_unit: 1}}\n"+
		"  - {key: "+long+", value: b, rate_limit: {unit: day, requests_per_unit: 2}}\n  - {key: \"\\0\\n;\", rate_limit: {unit: day, requests_per_unit: 3}}\n")
	s.passes(1, long, of(long, "a"))
	s.passes(2, long, of(long, "b"))
	s.passes(3, long, of("\x00\n;", "b"))
}

func FuzzFiles(f *testing.F) {
	for _, seed := range []string{shadowed, perUser, limit("unlimited: true, name: a, replaces: [{name: b}]"), "domain: &a d\nx: *a\n", "a: [", "? a\n: b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		files := filesOf(text)
		if err := envoyrls.Check(files...); err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "a.yaml: "), err.Error())
			return
		}
		// What is accepted, the gate takes too, or says why not.
		s, err := envoyrls.New(envoyrls.Config{Gate: tickgate.Config{MaxKeys: 16}}, files...)
		if err != nil {
			require.ErrorContains(t, err, "refill within 365 days")
			return
		}
		_, err = s.ShouldRateLimit(t.Context(), requestOf("d", of("user", "a"), of("host", "b")))
		require.NoError(t, err)
	})
}
