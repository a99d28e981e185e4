package tickgate

// Stats is a snapshot of a gate's counters since [New]. They are read one after
// the other while others count, so at full speed they need not add up exactly.
type Stats struct {
	Hits    uint64  // decisions that brought no key in: it was there, or none was needed
	Misses  uint64  // decisions that brought a key in, or found no room for it
	HitRate float64 // Hits of all decisions, 0 to 1; 0 before the first

	Size     int // keys held
	Capacity int // MaxKeys

	Evictions Evictions
	Policies  []PolicyStats // in the order of [Gate.Policies]

	// RollbacksLost counts the times that a decision could not put back what it had taken
	// of the limits, or joined keys, that it asked first: somebody else gave tokens of the
	// same key back, and was descheduled in the middle. The key is short of that much until
	// it has refilled.
	RollbacksLost uint64

	BadRequests uint64 // denied as BadRequest
	NoPolicy    uint64 // denied as NoPolicy
}

// Evictions are keys dropped to make room, by reason.
type Evictions struct {
	Idle   uint64 // full keys, which lose nothing
	Forced uint64 // keys that owed: what they owed was forgiven
}

// PolicyStats are the decisions of one policy. Looks (n == 0) do not count.
type PolicyStats struct {
	Endpoint string
	Allowed  uint64
	Denied   uint64

	Shadowed uint64 // of Allowed: a limit denied it, and the policy is in shadow mode
	Barred   uint64 // of Denied: by a block or a ban

	// Near counts, of Allowed, the decisions that left less than a fifth of the limit
	// that decided. Those that tell only whether they allowed, Allow and AllowAt, do
	// not look at that, and are not in it.
	Near uint64
}

// Stats reads the counters. It costs microseconds and disturbs no decision; the
// slice of policies is allocated.
func (g *Gate) Stats() Stats {
	t := g.table.Stats()
	s := Stats{
		Misses:    t.Missed,
		Size:      t.Keys,
		Capacity:  g.table.Cap(),
		Evictions: Evictions{Idle: t.Idle, Forced: t.Forced},

		RollbacksLost: t.Kept,
		BadRequests:   g.bad.Load(),
		NoPolicy:      g.stray.Load(),
	}
	var decided uint64
	r := g.routes.Load()
	for _, p := range r.set {
		c := r.byName[p.Endpoint].policy.Counts()
		s.Policies = append(s.Policies, PolicyStats{p.Endpoint, c.Allowed, c.Denied, c.Shadowed, c.Barred, c.Near})
	}
	for _, p := range r.known {
		c := p.Counts()
		decided += c.Allowed + c.Denied
	}
	s.Hits = decided - min(s.Misses, decided)
	if decided > 0 {
		s.HitRate = float64(s.Hits) / float64(decided)
	}
	return s
}
