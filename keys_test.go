package tickgate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// pair is what a bucket belongs to.
type pair struct{ apikey, endpoint string }

// requireApart takes another number of tokens from every pair and then looks
// whether each has lost its own. Pairs must differ and be under limits of 1000
// at least, the clock must stand.
func requireApart(t *testing.T, g *tickgate.Gate, pairs []pair) {
	t.Helper()
	for i, p := range pairs {
		require.True(t, g.AllowN(p.apikey, p.endpoint, int64(1+i%500)), "%q", p)
	}
	for i, p := range pairs {
		require.Equal(t, int64(1000-1-i%500), g.Take(p.apikey, p.endpoint, 0).Remaining, "%q shares its bucket, or lost it", p)
	}
	require.Zero(t, g.Stats().Evictions)
	require.Equal(t, len(pairs), g.Stats().Size)
}

// twoPolicies is order.new and default, both with 1000 tokens.
func twoPolicies(t *testing.T, c clock.Clock) *tickgate.Gate {
	g, err := tickgate.New(tickgate.Config{Clock: c, Policies: policy.Set{
		policyOf(t, endpoint, "1000/h"), policyOf(t, policy.DefaultEndpoint, "1000/h"),
	}})
	require.NoError(t, err)
	return g
}

// apart is requireApart in a gate of the real clock, which looks keys up in a way
// of its own, and in one of a clock that stands. A token takes 3.6 s to come back.
func apart(t *testing.T, pairs []pair) {
	t.Helper()
	requireApart(t, twoPolicies(t, clock.Default()), pairs)
	requireApart(t, twoPolicies(t, clock.NewManual(0)), pairs)
}

// Two apikeys with one xxhash64 are two keys, listed endpoint or not.
func TestG3KeysOfOneHash(t *testing.T) {
	keys := colliding(t, 2)
	apart(t, []pair{
		{keys[0], endpoint}, {keys[1], endpoint},
		{keys[0], "unlisted"}, {keys[1], "unlisted"},
		{keys[0], policy.DefaultEndpoint}, {keys[1], policy.DefaultEndpoint},
		{"k", keys[0]}, {"k", keys[1]},
		{keys[0], keys[0]}, {keys[0], keys[1]}, {keys[1], keys[0]}, {keys[1], keys[1]},
	})
}

// As many keys of one hash as there is room for near their home.
func TestG3KeysManyOfOneHome(t *testing.T) {
	var pairs []pair
	for _, k := range colliding(t, 240) {
		pairs = append(pairs, pair{k, endpoint})
	}
	apart(t, pairs)
}

// More than that: those that go are counted, and what stays is still told apart.
func TestG3KeysMoreOfOneHomeThanFit(t *testing.T) {
	g := twoPolicies(t, clock.NewManual(0))
	keys := colliding(t, 1000)
	for i, k := range keys {
		require.True(t, g.AllowN(k, endpoint, int64(1+i%2)))
		require.Equal(t, int64(1000-1-i%2), left(g, k))
	}
	s := g.Stats()
	require.Equal(t, uint64(len(keys)-s.Size), s.Evictions.Forced)
	require.Equal(t, uint64(len(keys)), s.Misses)
}

// Handles of keys with one hash.
func TestG3KeysOfOneHashPinned(t *testing.T) {
	g := twoPolicies(t, clock.NewManual(0))
	var handles []tickgate.Handle
	for _, k := range colliding(t, 200) {
		handles = append(handles, handleOf(t, g, k))
	}
	for i, h := range handles {
		require.True(t, h.AllowAt(0, int64(1+i)))
	}
	for i, h := range handles {
		require.Equal(t, int64(1000-1-i), h.TakeAt(0, 0).Remaining)
	}
}

// Every length of a key, and keys that are beginnings of others.
func TestG3KeysPrefixes(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 16)
	var pairs []pair
	for n := 1; n <= 256; n++ {
		pairs = append(pairs, pair{long[:n], endpoint}, pair{long[:n], "unlisted"})
	}
	apart(t, pairs)
}

// Keys that differ in one byte, at every place and length around the ends of the
// words that they are compared in; and in zeros at their ends.
func TestG3KeysOneByteApart(t *testing.T) {
	var pairs []pair
	for _, n := range []int{1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 255, 256} {
		for at := 0; at < n; at += max(1, n/20) {
			b := make([]byte, n)
			b[at] = 1
			pairs = append(pairs, pair{string(b), endpoint})
		}
		pairs = append(pairs, pair{string(make([]byte, n)), endpoint})
	}
	apart(t, pairs)
}

// Where the endpoint is part of the key, the border between the two counts.
func TestG3KeysBorderOfApikeyAndEndpoint(t *testing.T) {
	var pairs []pair
	for _, s := range []string{"abc", "0123456789abcdef01234567", strings.Repeat("x", 64)} {
		for i := 1; i < len(s); i++ {
			pairs = append(pairs, pair{s[:i], s[i:]})
		}
	}
	apart(t, pairs)
}

// The endpoint "default" is one of those that "default" answers for, and each of
// them has keys of its own. So have two listed endpoints.
func TestG3KeysDefaultAndUnlisted(t *testing.T) {
	apart(t, []pair{
		{"k", policy.DefaultEndpoint}, {"k", "a"}, {"k", "b"}, {"k", endpoint},
		{"kdefault", policy.DefaultEndpoint}, {"k", "defaul"}, {"k", "defaultt"},
	})
}

// The same two names in the other order, and one name twice, are no worse for
// the table than any other pair.
func TestG3KeysOfEqualNames(t *testing.T) {
	var pairs []pair
	for i := range 1000 {
		s := fmt.Sprintf("name-%d", i)
		pairs = append(pairs, pair{s, s}, pair{s, "other-" + s}, pair{"other-" + s, s})
	}
	apart(t, pairs)
}
