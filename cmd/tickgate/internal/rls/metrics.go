package rls

import "github.com/prometheus/client_golang/prometheus"

var (
	requests = prometheus.NewDesc("tickgate_rls_requests_total",
		"Requests of Envoy, by what became of them.", []string{"outcome"}, nil)
	unmatched = prometheus.NewDesc("tickgate_rls_descriptors_unmatched_total",
		"Descriptors that no entry of the files matched.", nil, nil)
	shadowed = prometheus.NewDesc("tickgate_rls_shadow_denied_total",
		"Limits in shadow mode that would have denied.", nil, nil)
	keys = prometheus.NewDesc("tickgate_rls_keys",
		"Keys held for Envoy.", nil, nil)
	keysCapacity = prometheus.NewDesc("tickgate_rls_keys_capacity",
		"Room for keys of Envoy.", nil, nil)
)

// Describe is for Prometheus.
func (s *Service) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{requests, unmatched, shadowed, keys, keysCapacity} {
		out <- d
	}
}

// Collect is for Prometheus.
func (s *Service) Collect(out chan<- prometheus.Metric) {
	n, gate := s.limits.Stats(), s.limits.Gate().Stats()
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	count(requests, n.Requests-min(n.Requests, n.OverLimit+n.Refused), "ok")
	count(requests, n.OverLimit, "over_limit")
	count(requests, n.Refused, "refused")
	count(unmatched, n.Unmatched)
	count(shadowed, n.ShadowDenied)
	out <- prometheus.MustNewConstMetric(keys, prometheus.GaugeValue, float64(gate.Size))
	out <- prometheus.MustNewConstMetric(keysCapacity, prometheus.GaugeValue, float64(gate.Capacity))
}
