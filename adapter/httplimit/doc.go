// Package httplimit puts limits, and safe retries, in front of net/http handlers.
//
//	limiter, err := httplimit.NewLimiter(httplimit.LimitConfig{
//		Gate:      gate,
//		Key:       apikey,                // who is asking: there is no default
//		OnMissing: httplimit.FailClosed,  // what if nobody is named: neither
//	})
//	…
//	mux.Handle("POST /memory/ingest", limiter.Wrap(once.Wrap(ingest)))
//
// A [Limiter] asks a gate for every request. What passes tells the caller what is
// left; what does not is answered with 429, Retry-After, and a body of
// application/problem+json. An [Idempotency] runs a handler once for each key that
// its callers choose, and answers their retries with the result of the first.
//
// The limiter comes first, so that a denial is not bound to an idempotency key, and
// retries are limited too.
//
//	request ─▶ Limiter ─▶ Idempotency ─▶ handler
//	             429         400 409 413 422, or the result of before
//
// # Who, and what
//
// The key is what [KeyFunc] returns: the caller that was authenticated. The address
// of a client is never taken for it: behind a proxy all clients have one, and in
// front of one a client has many. The endpoint is the method and the pattern of the
// mux, "GET /memory/query": never the path, of which a client can make any number.
//
// # Not exactly once
//
// A handler that ends, and whose result could not be kept, runs again for a retry.
// So does one that was cut off by a crash, once its lease is over. What must not
// happen twice needs its own mark where it happens, in the same transaction.
//
// # Concurrency
//
// Everything here may be used by any number of goroutines at once.
package httplimit
