package venuesim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ideal sends one token at each moment when the venue has room, until end.
func ideal(v *Venue, class string, start, end int64) {
	v.Advance(start)
	for at := v.Earliest(start, class); at < end; at = v.Earliest(at, class) {
		v.Receive(at, class)
	}
	v.Advance(end)
}

func TestIdealSenderUsesAll(t *testing.T) {
	for _, c := range []struct {
		limit      Limit
		start, end int64
		most       int64
	}{
		{Limit{Kind: Aligned, Tokens: 7, Per: time.Second}, 0, 10 * second, 70},
		{Limit{Kind: Aligned, Tokens: 7, Per: time.Second}, second - 1, 10*second + 1, 11 * 7},
		{Limit{Kind: Aligned, Tokens: 7, Per: time.Second, Phase: time.Second / 2}, 0, 10 * second, 77},
		{Limit{Kind: FromFirst, Tokens: 7, Per: time.Second}, 5, 10*second + 5, 70},
		{Limit{Kind: FromFirst, Tokens: 7, Per: time.Second}, 5, 10*second + 6, 77},
		{Limit{Kind: Rolling, Tokens: 7, Per: time.Second}, 5, 10*second + 5, 70},
		{Limit{Kind: Rolling, Tokens: 7, Per: time.Second}, 5, 10*second + 6, 77},
		{Limit{Kind: TokenBucket, Tokens: 7, Per: time.Second, Burst: 20}, 0, 10 * second, 20 + 69},
		{Limit{Kind: TokenBucket, Tokens: 7, Per: time.Second, Burst: 20}, 0, 10*second + 1, 20 + 70},
		{Limit{Kind: Decaying, Tokens: 234, Per: 100 * time.Second, Burst: 125}, 0, 600 * second, 125 + 1403},
		{Limit{Kind: Decaying, Tokens: 234, Per: 100 * time.Second, Burst: 125}, 0, 600*second + 1, 125 + 1404},
	} {
		v := one(t, &Rule{Name: "r", Limit: c.limit})
		ideal(v, "m", c.start, c.end)
		require.Equal(t, []Volume{{"m", "r", c.most, c.most}}, v.Volume(), "%+v", c.limit)
		require.Equal(t, 1.0, v.Utilisation("m"))
		require.Empty(t, v.Breaches())
	}
}

// Where several rules hold, the one that binds is used in full.
func TestUtilisationIsOfTheRuleThatBinds(t *testing.T) {
	v := one(t,
		&Rule{Name: "weight", Limit: Limit{Kind: Aligned, Tokens: 6000, Per: time.Minute}},
		&Rule{Name: "orders", Limit: Limit{Kind: Aligned, Tokens: 100, Per: 10 * time.Second}})
	ideal(v, "m", 0, 120*second)
	require.Equal(t, []Volume{{"m", "weight", 1200, 12000}, {"m", "orders", 1200, 1200}}, v.Volume())
	require.Equal(t, 0.1, v.Volume()[0].Share())
	require.Equal(t, 1.0, v.Utilisation("m"))
}

func TestVolumeHorizon(t *testing.T) {
	v := one(t, &Rule{Name: "r", Limit: Limit{Kind: Aligned, Tokens: 1, Per: 10}})
	v.Advance(0)
	v.Horizon(20)
	v.Receive(5, "m")
	v.Receive(19, "m")
	v.Receive(20, "m") // a straggler
	v.Credit(21, "m", "r", 1)
	require.Equal(t, []Volume{{"m", "r", 2, 2}}, v.Volume())
}

func TestVolumeWithoutLimit(t *testing.T) {
	v, err := New(
		Class{"all", []*Rule{{Name: "r", Limit: Limit{Kind: Unlimited}}}},
		Class{"none", []*Rule{{Name: "r", Limit: Limit{Kind: Deny}}}})
	require.NoError(t, err)
	require.Equal(t, []Volume{{"all", "r", 0, 0}, {"none", "r", 0, 0}}, v.Volume(), "no time has passed")
	v.Receive(0, "all", 9)
	v.Receive(0, "none", 9)
	require.Equal(t, []Volume{{"all", "r", 9, Never}, {"none", "r", 0, 0}}, v.Volume())
	require.Zero(t, v.Utilisation("all"))
	require.Zero(t, v.Utilisation("none"))
}
