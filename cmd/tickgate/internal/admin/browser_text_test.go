package admin

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

// A key that turns the direction of what follows does not show as another one, and turns
// nothing beside it.
func TestPageShowsWhatTurnsText(t *testing.T) {
	l := liveOf(t)
	b := open(t, l.url+"/debug/tickgate")
	l.take(30, "desk\u202elive\u200b-7", "POST /v1/orders")
	b.wait(`document.querySelector("#rejects-rows").textContent.includes("desk")`)
	for _, rows := range []string{"top", "rejects"} {
		require.True(t, js[bool](b, `[...document.querySelectorAll("#`+rows+`-rows code")].some((e) => e.textContent === "desk\\u202elive\\u200b-7")`), rows)
	}
	require.False(t, js[bool](b, `/[\u202a-\u202e\u2066-\u2069]/.test(document.body.textContent)`))
	l.take(1, "\u0645\u0641\u062a\u0627\u062d 12", "DELETE /v1/orders/{id}") // one of a language that is written from the right
	l.take(250, "\u0645\u0641\u062a\u0627\u062d 12", "DELETE /v1/orders/{id}")
	b.wait(`document.querySelector("#rejects-rows").textContent.includes("\u0645")`)
	require.Equal(t, "isolate", js[string](b, `getComputedStyle([...document.querySelectorAll("#rejects-rows code")].find((e) => e.textContent.includes("\u0645"))).unicodeBidi`))
	b.quiet(l.url)
}

// A long name breaks at its dots and slashes, and not within a word.
func TestPageBreaksLongNames(t *testing.T) {
	const long = "trading.settlement.instructions.crossborder.confirmations.amendments.withdrawal.authorisation"
	l := liveOf(t)
	require.NoError(t, l.Gate.Apply(append(policy.Set{limited(long, "1/h")}, l.Gate.Policies()...)))
	b := open(t, l.url+"/debug/tickgate")
	l.take(2, "a-key-of-"+strings.Repeat("x", 60), long)
	b.wait(`document.querySelector("#rejects-rows").textContent.includes("settlement")`)
	// The parts of the name between its dots have one line each.
	broken := js[[]string](b, `[...document.querySelectorAll("#policies-rows span, #top-rows span, #rejects-rows span")].filter((e) => e.textContent === "`+long+`").flatMap((e) =>
		[...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE).filter((n) => {
			const range = document.createRange();
			range.selectNodeContents(n);
			return new Set([...range.getClientRects()].map((r) => r.top)).size > 1;
		}).map((n) => n.textContent))`)
	require.Empty(t, broken)
	require.Equal(t, 3, js[int](b, `[...document.querySelectorAll("#policies-rows span, #top-rows span, #rejects-rows span")].filter((e) => e.textContent === "`+long+`").length`))
	b.screenshot("long-names")
	b.quiet(l.url)
}

// What the program says of itself has the version of Go; the header has it once.
func TestPageHeaderSaysGoOnce(t *testing.T) {
	l := liveOf(t)
	b := open(t, l.url+"/debug/tickgate")
	require.Equal(t, 1, strings.Count(js[string](b, `document.getElementById("process").textContent`), runtime.Version()))
	js[int](b, `(clearTimeout(timer), paused = true, 0)`)
	own := runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	js[int](b, `(showFacts({ at: 2000, gate: { decided: 0, keys: 1, capacity: 2 }, process: { started: 1000, version: "tickgate v1 `+own+`", go: "`+own+`" } }), 0)`)
	require.Equal(t, "tickgate v1 "+own+", up 1 s", js[string](b, `document.getElementById("process").textContent`))
}
