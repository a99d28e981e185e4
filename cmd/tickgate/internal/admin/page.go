package admin

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"strings"
)

// pagePath is where the page is.
const pagePath = "/debug/tickgate"

//go:embed page
var pageFiles embed.FS

// newPage joins the page's files into one, which needs nothing but its data: no image,
// style, script or font is fetched. Its policy lets only its own style and scripts run,
// by their hashes: text that gets in all the same does nothing.
func newPage() (http.Handler, error) {
	var faults error
	text := func(name string) string {
		b, err := pageFiles.ReadFile("page/" + name)
		if err != nil {
			faults = err
		}
		return "\n" + string(b)
	}
	style := text("page.css")
	script := "\n\"use strict\";" + text("format.js") + text("dom.js") + text("plot.js") + text("page.js")
	page := strings.NewReplacer("/*style*/", style, "/*script*/", script).Replace(text("page.html"))
	csp := "default-src 'none'; connect-src 'self'; img-src data:; style-src '" + source(style) + "'; script-src '" + source(script) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	body := []byte(strings.TrimSpace(page))
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", csp)
		_, _ = w.Write(body)
	}), faults
}

// source returns the source of a Content-Security-Policy that lets a text run.
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
