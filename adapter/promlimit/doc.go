// Package promlimit shows a [tickgate.Gate] to Prometheus: a collector that reads the
// gate's own counters when it is scraped, and a sampler of how long decisions take.
//
//	sampler, err := promlimit.NewSampler(promlimit.SamplerConfig{})
//	collector, err := promlimit.New(promlimit.Config{Gate: gate, Sampler: sampler})
//	…
//	prometheus.MustRegister(collector)
//
// # Cost
//
// A decision calls nothing of this package, unless it goes through a [Sampler]: then
// one of 1,024, unless configured otherwise, is timed, and the others pay for a
// multiplication and a comparison. A scrape reads 2 KiB of counters for each policy and walks
// over no keys.
//
// # Series
//
// No label has a key of a caller in it. The label policy has the names of the policies,
// which the operator wrote; beyond Config.MaxPolicies they are added up under "other".
// Every series that can be is there from the beginning, as zero. docs/metrics.md lists
// them; dashboard.json and alerts.yaml, beside this package, use them.
package promlimit
