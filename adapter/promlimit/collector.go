package promlimit

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tickgate/tickgate"
)

const namespace = "tickgate"

// Collector reads the gate when it is scraped. Make one with [New].
type Collector struct {
	cfg Config
}

var _ prometheus.Collector = (*Collector)(nil)

// New makes a collector. It reports every fault of the configuration at once, each a
// [*tickgate.ConfigError].
func New(cfg Config) (*Collector, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.MaxPolicies == 0 {
		cfg.MaxPolicies = DefaultMaxPolicies
	}
	return &Collector{cfg: cfg}, nil
}

// Describe is for Prometheus.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range gateDescs {
		out <- d
	}
	if c.cfg.Sampler != nil {
		c.cfg.Sampler.histogram.Describe(out)
	}
	if c.cfg.Idempotency != nil {
		out <- idempotencyRequests
		out <- idempotencyRecords
		out <- idempotencyBytes
	}
	if c.cfg.Sources != nil {
		out <- configReloads
		out <- configLastSuccess
	}
	if c.cfg.Sync != nil {
		for _, s := range syncSeries {
			out <- s.desc
		}
	}
}

// Collect is for Prometheus.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	c.collectGate(out)
	if c.cfg.Sampler != nil {
		c.cfg.Sampler.histogram.Collect(out)
	}
	if c.cfg.Idempotency != nil {
		collectIdempotency(out, c.cfg.Idempotency())
	}
	if c.cfg.Sources != nil {
		for _, s := range c.cfg.Sources() {
			count(out, configReloads, s.Applied, s.Name, "applied")
			count(out, configReloads, s.Refused, s.Name, "refused")
			at := 0.0
			if !s.LastSuccess.IsZero() {
				at = float64(s.LastSuccess.UnixMilli()) / 1e3
			}
			gauge(out, configLastSuccess, at, s.Name)
		}
	}
	if c.cfg.Sync != nil {
		collectSync(out, c.cfg.Sync())
	}
}

func count(out chan<- prometheus.Metric, d *prometheus.Desc, n uint64, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

func gauge(out chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// desc describes a series.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

var (
	configReloads     = desc("config_reloads_total", "Policies loaded from a source: applied, or refused for a fault.", "source", "result")
	configLastSuccess = desc("config_last_success_timestamp_seconds", "When policies of a source were last applied; 0 if never.", "source")
)

// decisions are what a policy decided, by the label decision.
func decisions(p tickgate.PolicyStats) map[string]uint64 {
	return map[string]uint64{
		"allowed":       p.Allowed - min(p.Shadowed, p.Allowed),
		"shadow_denied": p.Shadowed,
		"denied":        p.Denied - min(p.Barred, p.Denied),
		"blocked":       p.Barred,
	}
}
