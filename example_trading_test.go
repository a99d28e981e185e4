package tickgate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/policy/venue"
)

// The programs of docs/trading.md. The tests at the end hold the guide to them, and to
// what the presets say.

// tradingGate has a clock and a wall clock that stand still until they are moved.
func tradingGate(policies string) (*tickgate.Gate, *clock.Manual) {
	set, err := policy.ParsePolicies(strings.NewReader(policies))
	if err != nil {
		panic(err)
	}
	clk := clock.NewManual(0)
	gate, err := tickgate.New(tickgate.Config{Policies: set, Clock: clk, Wall: clock.NewManualWall(0)})
	if err != nil {
		panic(err)
	}
	return gate, clk
}

// hold is gate.Handle where nothing can go wrong.
func hold(gate *tickgate.Gate, apikey, endpoint string) tickgate.Handle {
	h, err := gate.Handle(apikey, endpoint)
	if err != nil {
		panic(err)
	}
	return h
}

func Example_aligned() {
	gate, clk := tradingGate(`[{"endpoint": "order.new", "limits": ["300/10s aligned skew=50ms"]}]`)
	h := hold(gate, "account-7", "order.new")
	for _, at := range []time.Duration{9900 * time.Millisecond, 10020 * time.Millisecond, 10050 * time.Millisecond} {
		clk.Set(clock.Time(at))
		d := h.TakeAt(clk.Now(), 300)
		fmt.Println(at, d.Reason, d.RetryAfter)
	}
	// Output:
	// 9.9s ok 0s
	// 10.02s limited 30ms
	// 10.05s ok 0s
}

// earlyWall is a wall clock that reads ahead of another.
type earlyWall struct {
	clock.Wall
	lead time.Duration
}

func (w earlyWall) UnixNano(at clock.Time) int64 { return w.Wall.UnixNano(at) + int64(w.lead) }

func Example_guard() {
	wall, clk := clock.Wall(clock.NewManualWall(0)), clock.NewManual(0) // clock.SystemWall(), clock.Default()
	const shortest, longest, clockError = 1 * time.Millisecond, 15 * time.Millisecond, 3 * time.Millisecond

	gate, err := tickgate.New(tickgate.Config{
		Policies: venue.Guard(venue.HKEX(5).Policies, longest-shortest+2*clockError),
		Clock:    clk,
		Wall:     earlyWall{wall, longest + clockError},
	})
	fmt.Println(gate.Policies()[0].Limits, err)
	// Output:
	// [10/s aligned skew=20ms name=messages-1s] <nil>
}

func ExampleHandle_TakeCostsAt() {
	gate, clk := tradingGate(`[{"endpoint": "rest", "limits": ["6000/m aligned name=weight", "100/10s aligned name=orders"]}]`)
	h := hold(gate, "account-7", "rest")

	order := h.TakeCostsAt(clk.Now(), 1, tickgate.Cost{Limit: "weight", N: 4}) // 1 of all others
	query := h.TakeCostsAt(clk.Now(), 0, tickgate.Cost{Limit: "weight", N: 5950})
	fmt.Println(order.Limit, order.Remaining)
	fmt.Println(query.Limit, query.Remaining)
	// Output:
	// orders 99
	// weight 46
}

func ExampleJoin() {
	gate, clk := tradingGate(`[
		{"endpoint": "session", "limits": ["100/s rolling"]},
		{"endpoint": "account", "limits": ["150/s rolling"]},
		{"endpoint": "firm",    "limits": ["1000/s rolling"]}]`)
	account, firm := hold(gate, "account-7", "account"), hold(gate, "firm", "firm")
	first, err := tickgate.Join(hold(gate, "session-1", "session"), account, firm)
	if err != nil {
		panic(err)
	}
	second, err := tickgate.Join(firm, account, hold(gate, "session-2", "session")) // in any order
	if err != nil {
		panic(err)
	}
	fmt.Println(first.AllowAt(clk.Now(), 100), second.AllowAt(clk.Now(), 50))
	d := second.TakeAt(clk.Now(), 1)
	fmt.Println(d.Reason, "by member", d.Member, d.Limit, "- again in", d.RetryAfter)
	// Output:
	// true true
	// limited by member 1 150/s rolling - again in 1s
}

func ExampleHandle_TakeUrgentAt() {
	gate, clk := tradingGate(`[{"endpoint": "message", "limits": ["10/s reserve=3 rolling"]}]`)
	h := hold(gate, "session-1", "message")

	fmt.Println("orders  ", h.AllowAt(clk.Now(), 7), h.AllowAt(clk.Now(), 1))
	fmt.Println("cancels ", h.TakeUrgentAt(clk.Now(), 3).Allowed, h.TakeUrgentAt(clk.Now(), 1).Allowed)
	fmt.Println("too many", h.TakeAt(clk.Now(), 8).Reason)
	// Output:
	// orders   true false
	// cancels  true false
	// too many too costly
}

func ExampleGate_As() {
	set := policy.Set{{Endpoint: "order.new", Limits: []policy.Limit{{Name: "pace", Tokens: 10, Per: time.Second}}}}
	gate, err := tickgate.New(tickgate.Config{
		Policies: set, Clock: clock.NewManual(0), Wall: clock.NewManualWall(0),
		Audit: func(c tickgate.Change) { // write it where it cannot be changed
			fmt.Println(c.When.UTC().Format(time.TimeOnly), c.Who, c.What, c.APIKey, c.Old[0].Limits, c.New[0].Limits, c.Err)
		},
	})
	if err != nil {
		panic(err)
	}
	h := hold(gate, "account-7", "order.new")

	risk := gate.As("j.doe, risk")
	risk.Block("account-7") // "" is everyone
	fmt.Println(h.Take(1).Reason, h.TakeUrgentAt(0, 1).Reason)
	risk.Unblock("account-7")

	set = gate.Policies()
	set[0].Limits[0].Tokens = 5
	if err := gate.As("deploy 1184").Apply(set); err != nil {
		panic(err)
	}
	// Output:
	// 00:00:00 j.doe, risk block account-7 [10/s name=pace] [10/s name=pace] <nil>
	// blocked ok
	// 00:00:00 j.doe, risk unblock account-7 [10/s name=pace] [10/s name=pace] <nil>
	// 00:00:00 deploy 1184 apply  [10/s name=pace] [5/s name=pace] <nil>
}

func ExampleHandle_SyncUsed() {
	gate, clk := tradingGate(`[{"endpoint": "order.new", "limits": ["100/10s aligned name=orders-10s"]}]`)
	h := hold(gate, "account-7", "order.new")

	sent := h.TakeAt(clk.Now(), 1)
	h.TakeAt(clk.Now(), 1)             // still on its way
	h.SyncUsed(sent, "orders-10s", 41) // the reply to the first: somebody else sent 40
	fmt.Println(h.Take(0).Remaining)

	clk.Advance(10 * time.Second)
	h.SyncUsed(sent, "orders-10s", 60) // late: that window is over
	fmt.Println(h.Take(0).Remaining)
	// Output:
	// 58
	// 100
}

func Example_restart() {
	gate, clk := tradingGate(`[{"endpoint": "order.new", "limits": ["100/d aligned name=day", "10/s rolling name=pace"]}]`)
	clk.Set(clock.Time(9 * time.Hour)) // it is nine, and the gate is new
	h := hold(gate, "account-7", "order.new")

	h.ChargeLimit("day", 97) // today's, by the venue's count
	for range 4 {
		d := h.TakeAt(clk.Now(), 1)
		fmt.Println(d.Reason, d.Limit, d.Remaining, d.RetryAfter)
	}
	// Output:
	// ok day 2 0s
	// ok day 1 0s
	// ok day 0 0s
	// limited day 0 15h0m0s
}

func ExampleHandle_Ban() {
	gate, clk := tradingGate(`[{"endpoint": "order.new", "limits": ["100/10s aligned"]}]`)
	h := hold(gate, "account-7", "order.new")

	h.Ban(clk.Now().Add(17 * time.Second)) // status 429, Retry-After: 17
	h.Ban(clk.Now().Add(5 * time.Second))  // a reply that crossed it: the longest counts
	d := h.TakeUrgentAt(clk.Now(), 1)
	fmt.Println(d.Reason, d.RetryAfter)
	// Output: banned 17s
}

func ExampleHandle_Refund() {
	gate, clk := tradingGate(`[{"endpoint": "order.new", "limits": ["10/s"]}]`)
	h := hold(gate, "account-7", "order.new")

	d := h.TakeAt(clk.Now(), 10)
	clk.Advance(300 * time.Millisecond) // time gives 3 of the 10 back
	h.Refund(d)                         // and this the other 7
	fmt.Println(h.Take(0).Remaining)
	// Output: 10
}

func ExampleHandle_ReserveAt() {
	gate, clk := tradingGate(`[{"endpoint": "report", "limits": ["10/s"]}]`)
	h := hold(gate, "account-7", "report")

	r, err := h.ReserveAt(clk.Now(), 10)
	fmt.Println(r.Delay(), err)
	r, err = h.ReserveAt(clk.Now(), 5)
	fmt.Println(r.Delay(), err)
	r.CancelAt(clk.Now())
	fmt.Println(h.Take(1).RetryAfter)
	// Output:
	// 0s <nil>
	// 500ms <nil>
	// 100ms
}

func ExampleHandle_Wait() {
	gate, _ := tradingGate(`[{"endpoint": "report", "limits": ["1/h"]}]`)
	h := hold(gate, "account-7", "report")

	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	fmt.Println(h.Wait(ctx, 1)) // it is there
	err := h.Wait(ctx, 1)       // the next is there in an hour: that is known now
	fmt.Println(errors.Is(err, context.DeadlineExceeded), ctx.Err())
	// Output:
	// <nil>
	// true <nil>
}

// sender sends messages of one class: a handle for each count they draw on.
type sender struct {
	message venue.Message
	handles []tickgate.Handle
	group   tickgate.Group
}

// newSender makes the sender of a class. who says which key the sender has, by
// what the venue counts by: "IP address", "account".
func newSender(gate *tickgate.Gate, p venue.Preset, class string, who map[string]string) (s sender, err error) {
	s.message, _ = p.Message(class)
	for _, d := range s.message.Draws {
		h, err := gate.Handle(who[p.Keys[d.Endpoint]], d.Endpoint)
		if err != nil {
			return s, err
		}
		s.handles = append(s.handles, h)
	}
	s.group, err = tickgate.Join(s.handles...)
	return s, err
}

// take asks whether a message may go; n is its cost where the caller has to say.
func (s sender) take(now clock.Time, n int64) tickgate.Decision {
	var each [8]int64
	for i, d := range s.message.Draws {
		each[i] = d.Tokens(n)
	}
	return s.group.TakeEachAt(now, each[:len(s.message.Draws)]...)
}

// hear corrects by what the reply to d says.
func (s sender) hear(now clock.Time, d tickgate.Decision, f venue.Feedback) {
	for i, draw := range s.message.Draws {
		for _, u := range f.Used {
			if u.Endpoint == draw.Endpoint {
				s.group.SyncUsed(d, i, u.Limit, u.Used)
			}
		}
		if f.BanFor > 0 {
			s.handles[i].Ban(now.Add(f.BanFor))
		}
	}
}

func Example_preset() {
	preset, err := venue.Lookup("binance-spot")
	if err != nil {
		panic(err)
	}
	clk := clock.NewManual(0) // clock.Default()
	gate, err := tickgate.New(tickgate.Config{Policies: venue.Guard(preset.Policies, 20*time.Millisecond), Clock: clk, Wall: clock.NewManualWall(0)})
	if err != nil {
		panic(err)
	}
	orders, err := newSender(gate, preset, "order.new", map[string]string{"IP address": "192.0.2.1", "account": "account-7"})
	if err != nil {
		panic(err)
	}

	clk.Advance(time.Second)
	d := orders.take(clk.Now(), 1)
	fmt.Println(d.Allowed, d.Limit, d.Remaining)

	reply := http.Header{}
	reply.Set("X-MBX-ORDER-COUNT-10S", "98")
	orders.hear(clk.Now(), d, preset.Feedback("order.new", reply.Get, 200, time.Now()))
	d = orders.take(clk.Now(), 1)
	fmt.Println(d.Allowed, d.Limit, d.Remaining)

	reply.Set("Retry-After", "3")
	orders.hear(clk.Now(), d, preset.Feedback("order.new", reply.Get, 429, time.Now()))
	d = orders.take(clk.Now(), 1)
	fmt.Println(d.Allowed, d.Reason, d.RetryAfter)
	// Output:
	// true orders-10s 99
	// true orders-10s 1
	// false banned 3s
}

func ExampleOperator_Apply() {
	gate, clk := tradingGate(`[{"endpoint": "message", "limits": ["10/s rolling name=pace"]}]`)
	h := hold(gate, "session-1", "message")
	h.AllowAt(clk.Now(), 8)

	set := gate.Policies()
	set[0].Limits[0] = policy.Limit{Name: "pace", Tokens: 20, Per: time.Second, Window: policy.Aligned}
	if err := gate.As("deploy 1185").Apply(set); err != nil {
		panic(err)
	}
	fmt.Println(h.Take(0).Remaining) // the handle follows, and what was used stays used
	// Output: 12
}

// Every program in the guide is one of the above, word for word.
func TestTradingGuideShowsTheExamples(t *testing.T) {
	flat := func(file string) string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		lines := strings.Split(string(text), "\n")
		for i, l := range lines {
			lines[i] = strings.TrimSpace(l)
		}
		return strings.Join(lines, "\n")
	}
	run, guide := flat("example_trading_test.go"), flat("docs/trading.md")
	shown := strings.Split(guide, "```go\n")[1:]
	require.NotEmpty(t, shown)
	for _, block := range shown {
		block, _, ok := strings.Cut(block, "\n```")
		require.True(t, ok)
		require.True(t, strings.Contains(run, "\n"+block+"\n"), "not an Example:\n%s", block)
	}
}

// The guide's table of presets is what the presets say.
func TestTradingGuideListsThePresets(t *testing.T) {
	guide, err := os.ReadFile("docs/trading.md")
	require.NoError(t, err)
	_, shown, _ := strings.Cut(string(guide), "<!-- presets -->\n")
	shown, _, ok := strings.Cut(shown, "<!-- /presets -->")
	require.True(t, ok)
	require.Equal(t, presetTable(), shown)
}

// presetTable is one line for each preset.
func presetTable() string {
	rows := []string{
		"| Preset | Counts, by whom, and their limits | The caller gives | Source, read |", "|---|---|---|---|",
	}
	for _, p := range venue.All() {
		var counts, costs []string
		for _, c := range p.Policies {
			var limits []string
			for _, l := range c.Limits {
				l.Name = ""
				limits = append(limits, "`"+l.String()+"`")
			}
			counts = append(counts, c.Endpoint+", by "+p.Keys[c.Endpoint]+": "+strings.Join(limits, ", "))
		}
		for _, m := range p.Messages {
			for _, d := range m.Draws {
				if d.Cost == venue.ByCaller {
					costs = append(costs, "the cost of "+m.Class+" on "+d.Endpoint)
				}
			}
		}
		if costs == nil {
			costs = []string{"nothing"}
		}
		rows = append(rows, "| `"+p.Name+"` | "+strings.Join(counts, "<br>")+" | "+strings.Join(costs, "<br>")+" | "+p.Source+"; "+p.Read+" |")
	}
	return strings.Join(rows, "\n") + "\n"
}
