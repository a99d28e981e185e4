// Package memory is a small HTTP API that keeps memories: texts that callers send,
// and ask for later. It shows how limits for each caller and endpoint, and safe
// retries, are put in front of an API.
//
//	request ─▶ log ─▶ Limiter ─▶ mux ─▶ Idempotency ─▶ ingest ─▶ queue ─▶ Run ─▶ shelf
//	                    429       │       409 422                                  ▲
//	                              └─▶ query, skills, projects ─────────────────────┘
//
// The limiter is around the whole mux, so that what the mux has no handler for is
// limited too. It comes before the idempotency: a retry is a request like any other,
// and a denial is not remembered as the answer to one.
//
// Everything is kept in this process, within bounds, and lost when it ends.
package memory
