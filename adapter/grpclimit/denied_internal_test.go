package grpclimit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
)

func TestPushbackIsNeverEarly(t *testing.T) {
	const longest = (1<<31 - 1) * time.Millisecond // the value is a signed number of 32 bits
	for _, tt := range []struct {
		wait time.Duration
		want string
	}{
		{1, "1"},
		{time.Millisecond - 1, "1"},
		{time.Millisecond, "1"},
		{time.Millisecond + 1, "2"},
		{47 * time.Second, "47000"},
		{longest, "2147483647"},
		{longest + 1, "-1"},
		{tickgate.Never - 1, "-1"},
		{tickgate.Never, "-1"},
		{0, "-1"}, // not known
	} {
		d := &Denied{Decision: tickgate.Decision{RetryAfter: tt.wait}}
		require.Equal(t, []string{tt.want}, d.pushback()[pushbackName], "%v", tt.wait)
	}
}

func TestDeniedText(t *testing.T) {
	for _, tt := range []struct {
		d    tickgate.Decision
		want string
	}{
		{tickgate.Decision{Reason: tickgate.Limited, Limit: "hour", RetryAfter: time.Second}, `, limit "hour": call again in 1s`},
		{tickgate.Decision{Reason: tickgate.Limited, Limit: "hour"}, `, limit "hour": the tokens are not there before the deadline`},
		{tickgate.Decision{Reason: tickgate.Banned, RetryAfter: time.Minute}, ": call again in 1m0s"},
		{tickgate.Decision{Reason: tickgate.Unsettled, Limit: "hour", RetryAfter: time.Second}, `, limit "hour": call again in 1s`},
		{tickgate.Decision{Reason: tickgate.TooCostly, Limit: "hour", RetryAfter: tickgate.Never}, `, limit "hour": it costs more than the limit ever holds`},
		{tickgate.Decision{Reason: tickgate.Blocked, RetryAfter: tickgate.Never}, ": blocked"},
		{tickgate.Decision{Reason: tickgate.Full, RetryAfter: tickgate.Never}, ": no room for another key"},
	} {
		d := &Denied{Endpoint: "/s/m\r\n", Decision: tt.d, by: &limiter{domain: "d"}}
		require.EqualError(t, d, `rate limit exceeded for "/s/m\r\n"`+tt.want)
	}
}
