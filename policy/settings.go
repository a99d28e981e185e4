package policy

import (
	"fmt"
	"strconv"
	"time"
)

// Env is what the environment says about everything but limits.
type Env struct {
	// CacheSize is the number of keys held: RATE_LIMITER_CACHE_SIZE, 1 to
	// MaxCacheSize, 10000 when not set.
	CacheSize int
	// CacheTTL is how long a local view of a shared budget is trusted:
	// RATE_LIMITER_CACHE_TTL_SECONDS, 1 s to 365 days, 1 s when not set.
	CacheTTL time.Duration
	// RedisURL is REDIS_URL, empty when not set. It may hold a password.
	RedisURL string
	// IdempotencyTTL is how long the result of a request is remembered:
	// MEM_IDEMPOTENCY_TTL_SECS, 1 s to 365 days, 24 h when not set.
	IdempotencyTTL time.Duration
}

// MaxCacheSize is the highest CacheSize: 2^30 keys, which fits an int everywhere
// and is more than any memory holds.
const MaxCacheSize = 1 << 30

// EnvFrom reads an Env through lookup (os.LookupEnv) and nowhere else. A variable
// that is not set or empty takes its default; spaces around a value do not
// matter. A malformed value is a [*ConfigError] that names the variable, the value
// and the form expected, all of them joined. REDIS_URL is checked for its form
// only, and never shown beyond its scheme, as it may hold a password:
//
//	redis://[user:password@]host[:port][,host[:port]...][/db][?options]
//	rediss://...            the same over TLS; valkey:// and valkeys:// are read as these two
//	unix://[user:password@]/path/to/socket[?options]
func EnvFrom(lookup func(string) (string, bool)) (Env, error) {
	if lookup == nil {
		return Env{}, &ConfigError{Field: "lookup", Value: "nil", Reason: "must be a function such as os.LookupEnv"}
	}
	var r report
	number := func(name string, fallback, most int64, what string) int64 {
		text, ok := variable(lookup, name)
		if !ok {
			return fallback
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !allDigits(text) || n < 1 || n > most {
			r.add(&ConfigError{Field: name, Value: text,
				Reason: fmt.Sprintf(`must be a whole number of %s from 1 to %d, as in "%d"`, what, most, fallback)})
			return fallback
		}
		return n
	}
	const year = int64(MaxPer / time.Second)
	e := Env{
		CacheSize:      int(number("RATE_LIMITER_CACHE_SIZE", 10_000, MaxCacheSize, "keys")),
		CacheTTL:       time.Duration(number("RATE_LIMITER_CACHE_TTL_SECONDS", 1, year, "seconds")) * time.Second,
		IdempotencyTTL: time.Duration(number("MEM_IDEMPOTENCY_TTL_SECS", 86_400, year, "seconds")) * time.Second,
	}
	if text, ok := variable(lookup, "REDIS_URL"); ok {
		if reason := redisURLFault(text); reason != "" {
			r.add(&ConfigError{Field: "REDIS_URL", Value: hideURL(text), Reason: reason + "; " + redisForm})
		}
		e.RedisURL = text
	}
	if err := r.err(); err != nil {
		return Env{}, err
	}
	return e, nil
}
