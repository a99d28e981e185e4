package promlimit

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tickgate/tickgate/idem"
)

var (
	idempotencyRequests = desc("idempotency_requests_total", "Requests with an idempotency key, by what became of them.", "outcome")
	idempotencyRecords  = desc("idempotency_records", "Results and requests under way that are held.")
	idempotencyBytes    = desc("idempotency_bytes", "Memory that they are reckoned at.")
)

func collectIdempotency(out chan<- prometheus.Metric, s idem.StoreStats) {
	for outcome, n := range map[string]uint64{
		"acquired": s.Acquired, "replayed": s.Replayed, "in_flight": s.InFlight, "mismatch": s.Mismatched,
		"full": s.Full, "lost": s.Lost, "error": s.Failed,
	} {
		count(out, idempotencyRequests, n, outcome)
	}
	gauge(out, idempotencyRecords, float64(s.Records))
	gauge(out, idempotencyBytes, float64(s.Bytes))
}
