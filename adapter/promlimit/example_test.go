package promlimit_test

import (
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/promlimit"
	"github.com/tickgate/tickgate/policy"
)

func Example() {
	set := policy.Set{{Endpoint: "order.new", Limits: []policy.Limit{{Tokens: 2, Per: time.Hour}}}}
	gate, err := tickgate.New(tickgate.Config{Policies: set})
	if err != nil {
		log.Fatal(err)
	}
	collector, err := promlimit.New(promlimit.Config{Gate: gate})
	if err != nil {
		log.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	for range 3 {
		gate.Allow("desk-7", "order.new")
	}
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text, err := io.ReadAll(w.Body)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, `tickgate_requests_total`) && strings.Contains(line, "order.new") {
			fmt.Print(line)
		}
	}
	// Output:
	// tickgate_requests_total{decision="allowed",policy="order.new"} 2
	// tickgate_requests_total{decision="blocked",policy="order.new"} 0
	// tickgate_requests_total{decision="denied",policy="order.new"} 1
	// tickgate_requests_total{decision="shadow_denied",policy="order.new"} 0
}
