package promlimit

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Sync is what became of sharing budgets with other processes. Its fields are those
// of the statistics of package redisync, which this module does not import.
type Sync struct {
	Nodes   int           // processes that share
	Away    bool          // the fuse is open
	ViewAge time.Duration // since the last answer

	Overshoot  int64   // tokens that all together can admit too much, for the key where that is most
	CreditUsed float64 // greatest share of its credit that a key had used when it was told; 1 is all
	Debt       float64 // tokens, of the budget with most
	Leases     int     // keys whose lease is good and has enough: redisync.Stats.Held
	SyncMedian time.Duration
	SyncP99    time.Duration
	OldestWait time.Duration // the longest that an account has waited for an answer

	FuseOpened       uint64
	Sent, Acked      uint64 // calls
	Unknown, Failed  uint64 // calls that may have been executed, and that were not
	Redirected       uint64
	ScriptsLoaded    uint64 // NOSCRIPT
	Created, Lost    uint64 // keys in Redis
	Charged, Granted uint64 // tokens
	Forgiven         uint64 // tokens

	// Leased are the tokens that were granted, Returned those of them that were given
	// back, and Wasted those that were left when a lease ended; the others are spent, or
	// held. Learning are the answers that grant nothing since leases may have been lost.
	Leased, Returned, Wasted, Learning uint64

	StrictFailed uint64 // strict calls that nobody decided, and that were denied
}

// series is one of what a Sync says.
type series struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*Sync) float64
}

func syncGauge(name, help string, value func(*Sync) float64) series {
	return series{desc("sync_"+name, help), prometheus.GaugeValue, value}
}

func syncCount(name, help string, value func(*Sync) uint64) series {
	return series{desc("sync_"+name+"_total", help), prometheus.CounterValue, func(s *Sync) float64 { return float64(value(s)) }}
}

var syncSeries = []series{
	syncGauge("nodes", "Processes that share budgets.", func(s *Sync) float64 { return float64(s.Nodes) }),
	syncGauge("fuse_open", "1 while nothing was answered for longer than a view is trusted.", func(s *Sync) float64 {
		if s.Away {
			return 1
		}
		return 0
	}),
	syncGauge("view_age_seconds", "Time since the last answer.", func(s *Sync) float64 { return s.ViewAge.Seconds() }),
	syncGauge("overshoot_bound", "Tokens that all processes together can admit too much of one key.", func(s *Sync) float64 { return float64(s.Overshoot) }),
	syncGauge("credit_used_ratio", "Greatest share of its credit that a key had used when it was told.", func(s *Sync) float64 { return s.CreditUsed }),
	syncGauge("debt", "Tokens that the budget with the greatest debt owes.", func(s *Sync) float64 { return s.Debt }),
	syncGauge("leases", "Keys whose lease, held by this process, is good and has enough.", func(s *Sync) float64 { return float64(s.Leases) }),
	syncGauge("duration_p50_seconds", "Median time of a call, recently.", func(s *Sync) float64 { return s.SyncMedian.Seconds() }),
	syncGauge("duration_p99_seconds", "99th percentile of the time of a call, recently.", func(s *Sync) float64 { return s.SyncP99.Seconds() }),
	syncGauge("oldest_wait_seconds", "Longest that a key has waited for an answer.", func(s *Sync) float64 { return s.OldestWait.Seconds() }),
	syncCount("fuse_opened", "How often the fuse opened.", func(s *Sync) uint64 { return s.FuseOpened }),
	syncCount("calls", "Calls sent.", func(s *Sync) uint64 { return s.Sent }),
	syncCount("calls_acked", "Calls answered.", func(s *Sync) uint64 { return s.Acked }),
	syncCount("calls_unknown", "Calls of which it is not known whether they were executed.", func(s *Sync) uint64 { return s.Unknown }),
	syncCount("calls_failed", "Calls that were not executed.", func(s *Sync) uint64 { return s.Failed }),
	syncCount("redirects", "Calls sent to another server of a cluster.", func(s *Sync) uint64 { return s.Redirected }),
	syncCount("scripts_loaded", "Times the script was not there and had to be sent.", func(s *Sync) uint64 { return s.ScriptsLoaded }),
	syncCount("keys_created", "Keys that were not in Redis.", func(s *Sync) uint64 { return s.Created }),
	syncCount("keys_lost", "Keys that were not in Redis and should have been: it was restarted, flushed, or short of memory.", func(s *Sync) uint64 { return s.Lost }),
	syncCount("tokens_charged", "Tokens that Redis was charged with.", func(s *Sync) uint64 { return s.Charged }),
	syncCount("tokens_granted_away", "Tokens admitted by the rule for when Redis is away.", func(s *Sync) uint64 { return s.Granted }),
	syncCount("tokens_forgiven", "Tokens of debts that Redis forgave.", func(s *Sync) uint64 { return s.Forgiven }),
	syncCount("lease_granted", "Tokens that were leased to this process.", func(s *Sync) uint64 { return s.Leased }),
	syncCount("lease_returned", "Leased tokens that were given back.", func(s *Sync) uint64 { return s.Returned }),
	syncCount("lease_wasted", "Leased tokens that ran out unused.", func(s *Sync) uint64 { return s.Wasted }),
	syncCount("lease_learning", "Answers that leased nothing because Redis might have lost leases.", func(s *Sync) uint64 { return s.Learning }),
	syncCount("strict_failed", "Strict calls that nobody decided, and that were denied.", func(s *Sync) uint64 { return s.StrictFailed }),
}

func collectSync(out chan<- prometheus.Metric, s Sync) {
	for _, m := range syncSeries {
		out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(&s))
	}
}
