package httplimit_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/policy"
)

// told is what a handler behind a limiter told: no network, for many requests.
func told(l *httplimit.Limiter, cost int64) (int, http.Header) {
	r := httptest.NewRequest("GET", "/", nil)
	r.Pattern = "GET /"
	r.Header.Set("X-API-Key", "k")
	r.Header.Set("Cost", strconv.FormatInt(cost, 10))
	w := httptest.NewRecorder()
	l.Wrap(ok).ServeHTTP(w, r)
	return w.Code, w.Header()
}

func costly(c *httplimit.LimitConfig) {
	c.Cost = func(r *http.Request) int64 { n, _ := strconv.ParseInt(r.Header.Get("Cost"), 10, 64); return n }
}

func TestHeadersOfEachKindOfLimit(t *testing.T) {
	for _, c := range []struct {
		limit  string
		policy string
		steps  []string // "after/cost: RateLimit", and for a denial Retry-After
	}{
		{"100/h name=hour", `"hour";q=100;w=3600`, []string{
			`0s/0: "hour";r=100;t=3600`, // spread evenly, 100 last an hour
			`0s/58: "hour";r=42;t=1512`,
			`0s/42: "hour";r=0;t=36`, // until one is back
			`35s/1: "hour";r=0;t=1 retry 1`,
			`1s/1: "hour";r=0;t=36`,
			`0s/3: "hour";r=0;t=108 retry 108`,
			`72s/3: "hour";r=2 retry 36`, // 2 last 72 s, which is after the retry
			`0s/101: "hour";r=2 never`,
		}},
		{"6000/m burst=200 name=b", `"b";q=200;w=2`, []string{`0s/0: "b";r=200;t=2`, `0s/200: "b";r=0;t=1`}},
		{"1/s burst=100 name=b", `"b";q=100;w=100`, []string{`0s/1: "b";r=99;t=99`}},
		{"10/s reserve=4 name=r", `"r";q=6;w=1`, []string{`0s/0: "r";r=6;t=1`, `0s/6: "r";r=0;t=1`}},
		{"100/h aligned name=a", `"a";q=100;w=3600`, []string{
			`0s/0: "a";r=100;t=3600`,
			`3583s/58: "a";r=42;t=17`, // the window ends
			`0s/43: "a";r=42;t=17 retry 17`,
			`17s/1: "a";r=99;t=3600`,
		}},
		{"10/1500ms from-first name=f", `"f";q=10;w=2`, []string{`0s/4: "f";r=6;t=2`, `1s/6: "f";r=0;t=1`, `0s/1: "f";r=0;t=1 retry 1`}},
		{"10/10s rolling name=w", `"w";q=10;w=10`, []string{
			`0s/4: "w";r=6;t=6`, `3s/6: "w";r=0;t=10`, `0s/4: "w";r=0;t=7 retry 7`, `0s/5: "w";r=0;t=10 retry 10`, `7s/4: "w";r=0;t=10`,
		}},
		{"2000000000/s name=x", `"x";q=2000000000;w=1`, []string{`0s/1: "x";r=1999999999;t=1`}},
		{"2000000000/s burst=9000000000000000 name=x", `"x";q=999999999999999;w=4500000`,
			[]string{`0s/0: "x";r=999999999999999;t=4500000`}}, // an integer has 15 digits
		{"1/d name=\"a name\"", `"a name";q=1;w=86400`, []string{`0s/1: "a name";r=0;t=86400`}},
	} {
		g, clock := gateOf(t, policyOf(t, "GET /", c.limit))
		l := limiterOf(t, g, costly)
		for _, step := range c.steps {
			when, want, _ := strings.Cut(step, ": ")
			after, n, _ := strings.Cut(when, "/")
			d, err := time.ParseDuration(after)
			require.NoError(t, err)
			cost, err := strconv.ParseInt(n, 10, 64)
			require.NoError(t, err)
			clock.Advance(d)
			status, h := told(l, cost)
			got := h.Get("RateLimit")
			if status == 429 {
				if retry := h.Get("Retry-After"); retry != "" {
					got += " retry " + retry
				} else {
					got += " never"
				}
			}
			require.Equal(t, want, got, "%s, %s", c.limit, step)
			require.Equal(t, c.policy, h.Get("RateLimit-Policy"))
		}
	}
}

// Over random limits, costs and times: every field reads as a structured field, says
// what the decision says, and promises no more than the rate.
func TestHeadersConform(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	denials, costlyDenials := 0, 0
	for range 300 {
		set := policy.Policy{Endpoint: "GET /"}
		for i := range 1 + rnd.IntN(3) {
			tokens := 1 + rnd.IntN(50)
			text := fmt.Sprintf("%d/%d%s", tokens, 1+rnd.IntN(2000), pick("ms", "s", "m"))
			switch rnd.IntN(5) {
			case 0:
				text += fmt.Sprintf(" burst=%d", 1+rnd.IntN(100))
			case 1:
				text += " rolling"
			case 2:
				text += " aligned"
			case 3:
				text += " from-first"
			}
			text += fmt.Sprintf(" name=%q", fmt.Sprintf("l%d %s", i, pick("a", "~!", "%;=,", "*'")))
			l, err := policy.ParseLimit(text)
			if err != nil {
				continue // a rate below one a day
			}
			set.Limits = append(set.Limits, l)
		}
		if len(set.Limits) == 0 {
			continue
		}
		g, c := gateOf(t, set)
		l := limiterOf(t, g, costly, func(c *httplimit.LimitConfig) { c.Headers = httplimit.Both })
		for range 40 {
			c.Advance(time.Duration(rnd.Int64N(int64(set.Limits[0].Per))))
			cost := int64(1 + rnd.IntN(8))
			status, h := told(l, cost)
			d := g.Take("k", "GET /", 0) // as it is now
			checkPolicy(t, set, h)
			retry := int64(0)
			if v := h.Get("Retry-After"); v != "" {
				var err error
				retry, err = strconv.ParseInt(v, 10, 64)
				require.NoError(t, err)
				require.GreaterOrEqual(t, retry, int64(1))
				require.Equal(t, 429, status)
				denials++
			}
			list, err := readSF(h["Ratelimit"])
			require.NoError(t, err, "%v", h)
			require.Len(t, list, 1)
			checkItem(t, set, list[0], retry, status)
			if status == 429 && list[0].params["r"] > 0 {
				costlyDenials++
			}
			require.Equal(t, strconv.FormatInt(list[0].params["r"], 10), h.Get("X-RateLimit-Remaining"))
			if status == 200 {
				require.Equal(t, d.Limit, list[0].name)
				require.Equal(t, d.Remaining, list[0].params["r"])
			}
			if retry > 0 && rnd.IntN(2) == 0 { // coming back then passes
				c.Advance(time.Duration(retry) * time.Second)
				status, _ := told(l, cost)
				require.Equal(t, 200, status, "%v %v", set, h)
			}
		}
	}
	require.Greater(t, denials, 500)
	require.Greater(t, costlyDenials, 50)
}

func checkPolicy(t *testing.T, set policy.Policy, h http.Header) {
	list, err := readSF(h["Ratelimit-Policy"])
	require.NoError(t, err, "%v", h)
	require.Len(t, list, len(set.Limits))
	for i, item := range list {
		l := set.Limits[i]
		require.Equal(t, l.Label(), item.name)
		require.Equal(t, []string{"q", "w"}, item.order)
		require.Equal(t, l.Capacity(), item.params["q"])
		notFaster(t, l, item.params["q"], item.params["w"])
	}
}

func checkItem(t *testing.T, set policy.Policy, item sfItem, retry int64, status int) {
	i := 0
	for set.Limits[i].Label() != item.name {
		i++
	}
	l := set.Limits[i]
	r := item.params["r"]
	require.LessOrEqual(t, r, l.Capacity())
	after, has := item.params["t"]
	if !has {
		require.Equal(t, 429, status)
		return
	}
	require.Positive(t, after)
	if status == 429 {
		require.LessOrEqual(t, after, retry, "Retry-After is never earlier than t")
	}
	if l.Window == policy.Aligned || l.Window == policy.FromFirst {
		require.LessOrEqual(t, time.Duration(after-1)*time.Second, max(l.Per, time.Duration(retry)*time.Second))
		return
	}
	notFaster(t, l, r, after)
}

// notFaster: n in s seconds is not above the rate of l.
func notFaster(t *testing.T, l policy.Limit, n, s int64) {
	rate := float64(l.Tokens) / l.Per.Seconds()
	require.LessOrEqual(t, float64(n)/float64(s), rate*(1+1e-12), "%v: %d in %d s", l, n, s)
}

// The time told with nothing left is when something is, for a bucket: not earlier, and
// by less than a second later.
func TestNothingLeftUntil(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		tokens, burst := 1+rnd.IntN(20), 1+rnd.IntN(20)
		g, c := gateOf(t, policyOf(t, "GET /", fmt.Sprintf("%d/%ds burst=%d", tokens, 1+rnd.IntN(600), burst)))
		l := limiterOf(t, g, costly)
		for range burst {
			c.Advance(time.Duration(rnd.Int64N(int64(time.Second))))
			_, h := told(l, 1)
			list, err := readSF(h["Ratelimit"])
			require.NoError(t, err)
			if list[0].params["r"] > 0 {
				continue
			}
			d := g.Take("k", "GET /", 1)
			require.Equal(t, tickgate.Limited, d.Reason)
			until := time.Duration(list[0].params["t"]) * time.Second
			require.GreaterOrEqual(t, until, d.RetryAfter)
			require.Less(t, until-d.RetryAfter, time.Second)
		}
	}
}
