package policy

import "time"

// Default returns the limits of a trading engine's calls:
//
//	endpoint              limit    credit
//	trading.submit_order  100/s    10
//	config.update         10/s     2
//	backtesting.run       5/m      1
//	default               50/s     5
//
// The capacity of each bucket is its tokens, so that 100 orders at once pass.
// Credit is not a cap on bursts: it is how many tokens one process may admit
// before the shared store has acknowledged them. Each call returns a new set.
func Default() Set {
	one := func(endpoint string, tokens int64, per time.Duration, credit int64) Policy {
		return Policy{Endpoint: endpoint, Limits: []Limit{{Tokens: tokens, Per: per}}, Credit: credit}
	}
	return Set{
		one("trading.submit_order", 100, time.Second, 10),
		one("config.update", 10, time.Second, 2),
		one("backtesting.run", 5, 60*time.Second, 1),
		one(DefaultEndpoint, 50, time.Second, 5),
	}
}

// The endpoints of MemoryAPI.
const (
	MemoryIngest   = "POST /memory/ingest"
	MemoryQuery    = "GET /memory/query"
	MemoryProjects = "GET /memory/projects"
	MemorySkills   = "GET /memory/skills"
)

// The names of MemoryAPI's limits.
const (
	nameHour  = "hour"
	nameBurst = "burst"
)

// MemoryAPI returns the limits of an HTTP API for memories:
//
//	endpoint              limits
//	POST /memory/ingest   100/h name=hour, 10/s rolling name=burst
//	GET /memory/query     1000/h name=hour, 10/s rolling name=burst
//	GET /memory/projects  100/h name=hour, 10/s rolling name=burst
//	GET /memory/skills    10/s rolling name=burst
//	default               10/s rolling name=burst
//
// The hourly limits are token buckets: after 36 s of 100/h one token is back.
// The burst cap is 10 requests in any second and holds for every endpoint, for
// each on its own, so the set has a default policy of the cap alone: an endpoint
// that is not listed is capped and not denied. Skills has no hourly limit. Each
// call returns a new set; FromEnv changes it by environment variables.
func MemoryAPI() Set {
	hourly := func(tokens int64) Limit { return Limit{Name: nameHour, Tokens: tokens, Per: time.Hour} }
	burst := Limit{Name: nameBurst, Tokens: 10, Per: time.Second, Window: Rolling}
	return Set{
		{Endpoint: MemoryIngest, Limits: []Limit{hourly(100), burst}},
		{Endpoint: MemoryQuery, Limits: []Limit{hourly(1000), burst}},
		{Endpoint: MemoryProjects, Limits: []Limit{hourly(100), burst}},
		{Endpoint: MemorySkills, Limits: []Limit{burst}},
		{Endpoint: DefaultEndpoint, Limits: []Limit{burst}},
	}
}
