package admin

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tickgate/tickgate/adapter/promlimit"
)

// scrapes is how many may be answered at one time.
const scrapes = 4

// metrics returns the handler of /metrics: the gate's series, Go's and the process'.
// Native histograms go to those who ask for protobuf. No series has exemplars.
func (a *admin) metrics() (http.Handler, error) {
	cfg := promlimit.Config{
		Gate: a.cfg.Gate, Sampler: a.cfg.Sampler, Idempotency: a.cfg.Idempotency, Sync: a.cfg.Sync,
	}
	if a.cfg.Sources != nil {
		cfg.Sources = func() (all []promlimit.Source) {
			for _, s := range a.cfg.Sources() {
				all = append(all, promlimit.Source{Name: s.Name, Applied: s.Applied, Refused: s.Refused, LastSuccess: s.LastSuccess, Failing: s.LastError != nil, Connection: s.Connection})
			}
			return all
		}
	}
	gate, err := promlimit.New(cfg)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	all := append([]prometheus.Collector{
		gate, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	}, a.cfg.Collectors...)
	var faults []error
	for _, c := range all {
		faults = append(faults, registry.Register(c))
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: scrapes,
		ErrorHandling:       promhttp.ContinueOnError, // what there is is better than nothing
		ErrorLog:            complaints{a.cfg.Log},
	}), errors.Join(faults...)
}

// complaints is promhttp's logger.
type complaints struct{ log *slog.Logger }

// Println is of promhttp.Logger.
func (c complaints) Println(v ...any) { c.log.Error("metrics", "error", v) }
