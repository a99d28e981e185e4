package venuesim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const second = int64(time.Second)

// Above 500 in 3 s each message is refused, above 750 the session is logged out,
// and stays so until it logs in again.
func TestLadderLogout(t *testing.T) {
	window := func(n int64) Limit { return Limit{Kind: FromFirst, Tokens: n, Per: 3 * time.Second} }
	v, err := New(
		Class{"order.new", []*Rule{{Name: "messages", Limit: window(500), Ladder: Ladder{Hard: window(750)}}}},
		Class{"order.cancel", []*Rule{{Name: "cancels", Limit: window(1000)}}})
	require.NoError(t, err)
	for i := int64(1); i <= 750; i++ {
		want := Accepted
		if i > 500 {
			want = Refused
		}
		require.Equal(t, want, v.Receive(7, "order.new").Status, "message %d", i)
	}
	_, banned := v.BannedUntil(7)
	require.False(t, banned)
	r := v.Receive(7, "order.new")
	require.Equal(t, Reply{Status: Ejected, At: 7, Rule: "messages", RetryAt: Never}, r)
	require.Equal(t, []Breach{{"order.new", "messages", 251, 7, 7}}, v.Breaches())

	require.Equal(t, Reply{Status: Banned, At: 100 * second, Rule: "messages", RetryAt: Never},
		v.Receive(100*second, "order.cancel"), "all classes")
	require.Equal(t, Never, v.Earliest(100*second, "order.cancel"))
	v.Readmit(101 * second)
	require.True(t, v.Receive(101*second, "order.cancel").Accepted())
	require.Equal(t, int64(1), v.Bans()[0].Ignored)
	require.Equal(t, 101*second, v.Bans()[0].Until)
}

// 100/s, and cut off above 200/s: the tries count, also in a bucket.
func TestLadderDisconnectOfABucket(t *testing.T) {
	bucket := func(n int64) Limit { return Limit{Tokens: n, Per: time.Second} }
	v := one(t, &Rule{Name: "fix", Limit: bucket(100), Ladder: Ladder{Hard: bucket(200), Ban: time.Second}})
	at := int64(0)
	for i := 0; i < 2000; i++ { // 150 a second, for long: refused, never cut off
		v.Receive(at, "m")
		at += second / 150
	}
	require.Empty(t, v.Bans())
	require.NotEmpty(t, v.Breaches())
	for i := 0; i < 2000 && len(v.Bans()) == 0; i++ { // 250 a second
		v.Receive(at, "m")
		at += second / 250
	}
	require.Len(t, v.Bans(), 1)
}

// 429 first; the third within the window bans for 2 minutes, the next ban is
// twice as long, up to the longest.
func TestLadderStrikes(t *testing.T) {
	v := one(t, &Rule{Name: "weight", Limit: Limit{Kind: Aligned, Tokens: 1, Per: time.Minute},
		Ladder: Ladder{Strikes: 3, Ban: 2 * time.Minute, Longest: 5 * time.Minute}})
	minute := 60 * second
	full := func(at int64) { require.True(t, v.Receive(at, "m").Accepted()) }

	full(0)
	require.Equal(t, Reply{Status: Refused, At: 1, Rule: "weight", RetryAt: minute, Used: []Usage{{"weight", 1, 1}}}, v.Receive(1, "m"))
	require.Equal(t, Refused, v.Receive(2, "m").Status)
	full(minute)
	require.Equal(t, Refused, v.Receive(minute+1, "m").Status, "a minute after the first strike they are forgotten")
	require.Equal(t, Refused, v.Receive(minute+2, "m").Status)
	at := minute + 3
	for _, want := range []int64{2, 4, 5, 5} {
		r := v.Receive(at, "m")
		require.Equal(t, Ejected, r.Status)
		require.Equal(t, at+want*minute, r.RetryAt)
		until, banned := v.BannedUntil(at)
		require.True(t, banned)
		require.Equal(t, r.RetryAt, until)
		require.Equal(t, Banned, v.Receive(until-1, "m").Status)
		_, banned = v.BannedUntil(until)
		require.False(t, banned)
		full(until)
		v.Receive(until+1, "m")
		v.Receive(until+2, "m")
		at = until + 3
	}
	require.Len(t, v.Bans(), 4)
}

// Calls that go on during a lock-out make it longer.
func TestLadderLockOutRenewed(t *testing.T) {
	v := one(t, &Rule{Name: "counter", Limit: Limit{Kind: Decaying, Tokens: 1, Per: 3 * time.Second, Burst: 15},
		Ladder: Ladder{Strikes: 1, Ban: time.Minute, Renew: true}})
	v.Receive(0, "m", 15)
	require.Equal(t, Ejected, v.Receive(1, "m").Status)
	require.Equal(t, 90*second, v.Receive(30*second, "m").RetryAt)
	require.Equal(t, 149*second, v.Receive(89*second, "m").RetryAt)
	require.True(t, v.Receive(149*second, "m").Accepted())
	require.Equal(t, int64(2), v.Bans()[0].Ignored)
}

// Where refused messages count, a sender that goes on never gets back in.
func TestTriesCount(t *testing.T) {
	for _, tries := range []bool{false, true} {
		v := one(t, &Rule{Name: "r", Tries: tries, Limit: Limit{Kind: Rolling, Tokens: 2, Per: 10}},
			&Rule{Name: "s", Limit: Limit{Kind: Rolling, Tokens: 100, Per: 10}})
		v.Receive(0, "m", 2, 1)
		r := v.Receive(9, "m", 2, 1)
		require.Equal(t, "r", r.Rule)
		require.Equal(t, int64(1), r.Used[1].Used)
		if tries {
			require.Equal(t, int64(4), r.Used[0].Used)
			require.Equal(t, int64(19), r.RetryAt)
		} else {
			require.Equal(t, int64(10), r.RetryAt)
		}
		require.Equal(t, !tries, v.Receive(10, "m", 2, 1).Accepted())
		require.Equal(t, tries, v.Volume()[0].Accepted == 2)
	}
}

func TestSetLadder(t *testing.T) {
	v, err := New(
		Class{"m", []*Rule{{Name: "r", Limit: Limit{Kind: Deny}}}},
		Class{"default", []*Rule{{Name: "d", Limit: Limit{Kind: Deny}}}})
	require.NoError(t, err)
	require.NoError(t, v.SetLadder("m", "r", Ladder{Strikes: 2, Ban: 5}))
	require.NoError(t, v.SetLadder("default", "d", Ladder{Strikes: 1}))
	require.ErrorContains(t, v.SetLadder("m", "x", Ladder{}), `class "m" has no rule "x"`)
	err = v.SetLadder("m", "r", Ladder{Strikes: -1, Ban: -1})
	require.ErrorContains(t, err, "strikes -1")
	require.ErrorContains(t, err, "ban -1ns")

	require.Equal(t, Refused, v.Receive(0, "m").Status)
	require.Equal(t, Ejected, v.Receive(1000, "m").Status, "strikes of a denial are not forgotten")
	require.Equal(t, Ejected, v.Receive(1005, "other").Status)
}
