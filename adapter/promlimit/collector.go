package promlimit

import (
	"github.com/prometheus/client_golang/prometheus"
)

const namespace = "tickgate"

// Collector reads the gate when it is scraped. Make one with [New].
type Collector struct {
	cfg    Config
	places *places
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
	return &Collector{cfg: cfg, places: newPlaces(cfg.MaxPolicies)}, nil
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
		out <- configFailing
		out <- configConnected
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
			collectSource(out, &s)
		}
	}
	if c.cfg.Sync != nil {
		collectSync(out, c.cfg.Sync())
	}
}

func collectSource(out chan<- prometheus.Metric, s *Source) {
	count(out, configReloads, s.Applied, s.Name, "applied")
	count(out, configReloads, s.Refused, s.Name, "refused")
	at := 0.0
	if !s.LastSuccess.IsZero() {
		at = float64(s.LastSuccess.UnixMilli()) / 1e3
	}
	gauge(out, configLastSuccess, at, s.Name)
	flag := func(d *prometheus.Desc, on bool) {
		v := 0.0
		if on {
			v = 1
		}
		gauge(out, d, v, s.Name)
	}
	flag(configFailing, s.Failing)
	if s.Connection != "" {
		flag(configConnected, s.Connection != NotConnected)
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
	configLastSuccess = desc("config_last_success_timestamp_seconds", "When a source was last seen to be good; 0 if never. Only of a source that is looked at all the time does it go on by itself.", "source")
	configFailing     = desc("config_failing", "1 while the last attempt on a source was refused, or got nothing: an older set is in force.", "source")
	configConnected   = desc("config_connected", "1 while there is a connection by which a source hears of changes, or is asked for them.", "source")
)
