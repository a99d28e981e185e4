package admin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// busy makes some traffic, so that every part of the page has something to show.
func (l *live) busy() {
	for i := range 40 {
		l.take(1+i*i/30, fmt.Sprint("desk-", i), "POST /v1/orders")
	}
	l.take(120, "desk-7", "DELETE /v1/orders/{id}")
	l.take(25, "desk-3", "GET /v1/reports")
	l.take(3, "desk-9", "GET /v1/unlisted?with=a-very-long-name-that-does-not-break-anywhere-and-goes-on-and-on-and-on")
	l.take(30, hostile, "POST /v1/orders")
}

// contrasts returns the texts whose contrast is below 4.5, that of WCAG AA.
const contrasts = `(() => {
  const parse = (c) => c.match(/[\d.]+/g).map(Number);
  const light = (c) => {
    const [r, g, b] = c.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const bad = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode());) {
    const e = n.parentElement;
    if (!n.textContent.trim() || !e.checkVisibility() || ["STYLE", "SCRIPT"].includes(e.tagName)) continue;
    const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(ratio.toFixed(2) + " " + n.textContent);
  }
  return bad;
})()`

// Wide and narrow, light and dark.
func TestPageFits(t *testing.T) {
	l := liveOf(t)
	l.Ready.Hold("process", "shutting down")
	b := open(t, l.url+"/debug/tickgate")
	for range 3 {
		l.busy()
		b.wait(fmt.Sprintf(`points.length > %d`, js[int](b, `points.length`)))
	}
	b.wait(`document.querySelector("#policies-rows").textContent.includes("fullest key")`)
	b.do(chromedp.Click(chromedp.CSS("#minutes summary")))
	background := map[string]string{}
	for _, width := range []int64{1280, 800, 360, 320} {
		for _, scheme := range []string{"light", "dark"} {
			b.do(chromedp.EmulateViewport(width, 800))
			b.scheme(scheme)
			name := fmt.Sprint(scheme, "-", width)
			require.LessOrEqual(t, js[int64](b, `document.documentElement.scrollWidth`), width, name)
			require.Empty(t, js[[]string](b, contrasts), name)
			background[scheme] = js[string](b, `getComputedStyle(document.body).backgroundColor`)
			if width == 360 { // a card for each row, and none that has to be moved sideways
				require.Equal(t, "flex", js[string](b, `getComputedStyle(document.querySelector("#rejects-rows tr")).display`))
				require.Empty(t, js[[]string](b, `[...document.querySelectorAll(".wide")].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.outerHTML)`))
			}
			b.screenshot(name)
		}
	}
	require.NotEqual(t, background["light"], background["dark"])
	require.Equal(t, "0s", js[string](b, `getComputedStyle(document.querySelector(".bar span")).transitionDuration`), "reduced motion")
	require.True(t, js[bool](b, `document.getElementById("notes").textContent.includes("Not ready: process, shutting down.")`))
	require.True(t, js[bool](b, `document.querySelector("path.denied").getAttribute("d").startsWith("M")`))
	b.quiet(l.url)
}

// Everything is reached by the keyboard, and shows that it is.
func TestPageByKeyboard(t *testing.T) {
	l := liveOf(t)
	for range 3 {
		l.busy()
	}
	b := open(t, l.url+"/debug/tickgate")
	b.wait(`document.querySelectorAll("#rejects-rows tr").length === 50`)
	var reached []string
	for range 30 {
		b.do(chromedp.KeyEvent(kb.Tab))
		at := js[string](b, `(() => { const e = document.activeElement, s = getComputedStyle(e); return e === document.body ? "" :
			(e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.textContent.trim()) + (s.outlineStyle === "none" || parseFloat(s.outlineWidth) < 2 ? " WITHOUT OUTLINE" : "") })()`)
		if at == "" {
			break
		}
		reached = append(reached, at)
	}
	require.NotContains(t, strings.Join(reached, "\n"), "WITHOUT OUTLINE")
	for _, want := range []string{"Pause", "Policies", "Denied keys", "Rejects", "Changes", "Redis", "Sources", "Machine", "By the minute, as a table", "Show all 20", "Show all 50"} {
		require.Contains(t, reached, want)
	}

	// Pausing stops the requests, and going on starts them again.
	b.do(chromedp.Focus(chromedp.CSS("#pause")), chromedp.KeyEvent(" "))
	b.wait(`document.getElementById("pause").getAttribute("aria-pressed") === "true" && !asking`)
	require.Equal(t, "paused", js[string](b, `document.getElementById("state").textContent`))
	require.False(t, js[bool](b, `(poll(), asking)`), "it would ask at once")
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("#state.on")))
	b.quiet(l.url)
}

// What a screen reader needs: headings in order, tables that are tables, names.
func TestPageForScreenReaders(t *testing.T) {
	l := liveOf(t)
	l.busy()
	b := open(t, l.url+"/debug/tickgate")
	b.wait(`document.querySelectorAll("#rejects-rows tr").length > 1`)
	b.do(chromedp.EmulateViewport(360, 800))
	require.Equal(t, "en", js[string](b, `document.documentElement.lang`))
	levels := js[[]int](b, `[...document.querySelectorAll("h1, h2, h3")].map((h) => Number(h.tagName[1]))`)
	require.Equal(t, 1, levels[0])
	for i, level := range levels[1:] {
		require.LessOrEqual(t, level, levels[i]+1, "no level is left out")
		require.Greater(t, level, 1)
	}
	for what, expression := range map[string]string{
		"regions without a name":  `[...document.querySelectorAll("[role=region], nav, svg[role=img]")].filter((e) => !e.getAttribute("aria-label") && !(e.getAttribute("aria-labelledby") || "x").split(" ").every((id) => document.getElementById(id))).map((e) => e.outerHTML)`,
		"rows without a header":   `[...document.querySelectorAll("tbody tr")].filter((r) => r.cells.length > 1 && (r.cells[0].tagName !== "TH" || r.cells[0].scope !== "row")).map((e) => e.outerHTML)`,
		"cells without a role":    `[...document.querySelectorAll("table, thead, tbody, tr, th, td")].filter((e) => !e.getAttribute("role")).map((e) => e.outerHTML)`,
		"cells beyond the header": `[...document.querySelectorAll("tbody tr")].filter((r) => r.cells.length > 1 && r.cells.length !== r.closest("table").tHead.rows[0].cells.length).map((e) => e.outerHTML)`,
	} {
		require.Empty(t, js[[]string](b, expression), what)
	}
	require.Equal(t, []string{"state", "notes"}, js[[]string](b, `[...document.querySelectorAll("[role=status], [role=alert], [aria-live]")].map((e) => e.id)`), "little is read aloud by itself")

	// What has not changed is not written again: a reader's place stays.
	js[int](b, `new MutationObserver((all) => { window.changed = (window.changed || []).concat(all.map((m) => (m.target.id || m.target.parentElement?.id || m.target.nodeName))) })
		.observe(document.getElementById("notes"), { childList: true, subtree: true, characterData: true });
		new MutationObserver(() => { window.written = true }).observe(document.getElementById("state"), { childList: true, subtree: true, characterData: true });
		new MutationObserver(() => { window.rows = true }).observe(document.getElementById("rejects-rows"), { childList: true, subtree: true, characterData: true }); 0`)
	b.wait(fmt.Sprintf(`points.length > %d`, js[int](b, `points.length`)+1))
	require.True(t, js[bool](b, `!window.changed && !window.written && !window.rows`))
	b.quiet(l.url)
}

// A page that gets no answer says so, and goes on when there is one again: also from
// another process, whose points do not follow those of the first.
func TestPageWithoutAnAnswer(t *testing.T) {
	l, another := liveOf(t), liveOf(t)
	var handler atomic.Pointer[http.Handler]
	handler.Store(&l.handler)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*handler.Load()).ServeHTTP(w, r) }))
	defer server.Close()
	b := open(t, server.URL+"/debug/tickgate")
	b.wait(`points.length > 1`)
	broken := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	handler.Store(&broken)
	b.do(chromedp.WaitVisible(chromedp.CSS("#state.off")))
	require.Contains(t, js[string](b, `document.getElementById("state").textContent`), "no answer since")
	before := js[int64](b, `started`)
	handler.Store(&another.handler)
	b.do(chromedp.WaitVisible(chromedp.CSS("#state.on")))
	require.NotEqual(t, before, js[int64](b, `started`))
	require.True(t, js[bool](b, `points.every((p) => p[0] > started)`))
}
