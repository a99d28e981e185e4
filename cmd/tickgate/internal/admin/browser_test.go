package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/promlimit"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/changes"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/denials"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/history"
	"github.com/tickgate/tickgate/policy"
)

// browser is a tab that shows the page, and all that it asked for and complained of.
type browser struct {
	ctx context.Context
	t   *testing.T

	mu         sync.Mutex
	requests   []string
	complaints []string
}

// open starts Chromium and opens a page. It skips the test where there is none.
func open(t *testing.T, url string) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes long")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Skip("no Chromium: install the package chromium to test the page in a browser")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), chromedp.Flag("lang", "en"))
	ctx, done := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(done)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	b := &browser{t: t}
	b.ctx, stop = chromedp.NewContext(ctx, chromedp.WithListener(b.event))
	t.Cleanup(stop)
	b.do(command(network.Enable, network.EnableParams{}), command(runtime.Enable, cdp.Empty{}), command(log.Enable, cdp.Empty{}),
		chromedp.EmulateViewport(1280, 900), chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS("#state.on")))
	return b
}

func (b *browser) event(e any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := e.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *log.EventEntryAdded:
		b.complaints = append(b.complaints, e.Entry.Text+" "+e.Entry.URL)
	case *runtime.EventConsoleAPICalled:
		b.complaints = append(b.complaints, fmt.Sprint(e.Type, e.Args))
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, fmt.Sprint(e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	}
}

// command is an action that sends one command of the protocol.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, c, params)
		return err
	})
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, actions...))
}

// js evaluates an expression.
func js[T any](b *browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, expression)
	return value
}

// wait waits until an expression is true.
func (b *browser) wait(expression string) {
	b.t.Helper()
	require.True(b.t, js[bool](b, `new Promise((done) => {
		const end = Date.now() + 20e3, look = () => (`+expression+`) ? done(true) : Date.now() > end ? done(false) : setTimeout(look, 20);
		look();
	})`), expression)
}

// screenshot is for people to look at: where TICKGATE_SCREENSHOTS names a folder.
func (b *browser) screenshot(name string) {
	b.t.Helper()
	folder := os.Getenv("TICKGATE_SCREENSHOTS")
	if folder == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600))
}

func (b *browser) scheme(name string) {
	b.t.Helper()
	b.do(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}))
}

// quiet checks that the page asked for nothing but itself and its data, and that the
// browser had nothing to complain of.
func (b *browser) quiet(from string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.complaints)
	require.NotEmpty(b.t, b.requests)
	for _, url := range b.requests {
		if !strings.HasPrefix(url, "data:") {
			require.True(b.t, strings.HasPrefix(url, from+"/debug/tickgate"), url)
		}
	}
}

// live is an admin port of a gate that runs, with all that may be shown.
type live struct {
	Config
	handler http.Handler
	url     string
}

func liveOf(t *testing.T) *live {
	t.Helper()
	l := &live{}
	var err error
	l.Denials, err = denials.New(denials.Config{ShowKeys: true})
	require.NoError(t, err)
	l.Log = slog.New(slog.DiscardHandler)
	l.Changes = changes.New(l.Log, l.Denials.Name)
	trial := limited("GET /v1/reports", "20/m")
	trial.Shadow = true
	set := policy.Set{limited("POST /v1/orders", "10/s burst=20 name=pace", "2000/h name=hour"), limited("DELETE /v1/orders/{id}", "100/m"), trial, limited("default", "50/s")}
	l.Gate, err = tickgate.New(tickgate.Config{Policies: set, MaxKeys: 5000, Audit: l.Changes.Of("")})
	require.NoError(t, err)
	l.Sampler, err = promlimit.NewSampler(promlimit.SamplerConfig{Every: 1})
	require.NoError(t, err)
	l.Ready, l.Version, l.PolicyVersion = &Ready{}, "tickgate v1.2.3", func() string { return "postgresql@41" }
	l.History = history.New(l.Gate.Stats, time.Now)
	l.Sync = func() promlimit.Sync {
		return promlimit.Sync{Nodes: 3, ViewAge: 12 * time.Millisecond, Overshoot: 40, CreditUsed: .37, SyncMedian: 410 * time.Microsecond, SyncP99: 3 * time.Millisecond, Sent: 1200, Acked: 1199, Unknown: 1}
	}
	l.Sources = func() []Source {
		return []Source{
			{Name: "postgresql", Version: "41", Policies: 4, Connection: "listening", Applied: 7, Refused: 1, LastSuccess: time.Now().Add(-3 * time.Second), LastError: errors.New("row 12, endpoint \"POST /v1/orders\": refill_rate -5: must be above zero")},
			{Name: "file", Version: "9f8e7d6c", Policies: 2, Applied: 1, LastSuccess: time.Now().Add(-time.Hour)},
		}
	}
	l.Table = func() Table {
		t := Table{Slots: 10240, Bytes: 10240 * 128, OffHeap: true}
		for i := range 16 {
			t.Shards = append(t.Shards, 20+i*7%13)
		}
		return t
	}
	l.Pages = func() Pages { return Pages{Setting: "madvise", Anonymous: 48 << 20, Huge: 2 << 20} }
	next := append(policy.Set(nil), set...)
	next[1] = limited("DELETE /v1/orders/{id}", "200/m")
	require.NoError(t, l.Gate.As("postgresql").Apply(next))
	require.Error(t, l.Gate.As("j.doe").Apply(policy.Set{{Endpoint: "x"}}))
	l.Gate.As("risk").Block("desk-9")
	l.handler, err = New(l.Config)
	require.NoError(t, err)
	server := httptest.NewServer(l.handler)
	t.Cleanup(server.Close)
	l.url = server.URL
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { l.History.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	return l
}

func (l *live) take(times int, apikey, endpoint string) {
	for range times {
		d := l.Sampler.Take(l.Gate, apikey, endpoint, 1)
		if !d.Allowed {
			l.Denials.Add(&denials.Denial{At: time.Now(), APIKey: apikey, Endpoint: endpoint, Limit: d.Limit, Reason: d.Reason, Cost: 1, RetryAfter: d.RetryAfter, Version: l.PolicyVersion()})
		}
	}
}

const hostile = `<img src="https://evil.example/x.png" onerror="document.title='taken'">`

// A denial is on the page within two seconds, nothing leaves the machine, and what a
// client wrote stays text.
func TestPageShowsADenial(t *testing.T) {
	l := liveOf(t)
	b := open(t, l.url+"/debug/tickgate")
	require.True(t, js[bool](b, `document.querySelector("#rejects-rows").textContent === "Nothing was denied."`))
	l.take(30, hostile, "POST /v1/orders")
	denied := time.Now()
	b.wait(`document.querySelector("#rejects-rows").textContent.includes("evil.example")`)
	require.Less(t, time.Since(denied), 2*time.Second)
	require.True(t, js[bool](b, `document.querySelector("#top-rows").textContent.includes("evil.example")`))
	l.take(3, "k", `</script><script>document.title="taken"</script>`)
	b.wait(`document.querySelector("#policies-rows").textContent.includes("fullest key")`) // the next look at all keys
	require.Equal(t, "tickgate", js[string](b, `document.title`))
	require.Equal(t, 1, js[int](b, `document.querySelectorAll("img, iframe, script").length`))
	b.quiet(l.url)
}
