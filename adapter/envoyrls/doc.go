// Package envoyrls is a rate limit service for Envoy: it answers
// envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit from a
// [tickgate.Gate], and reads the YAML of envoyproxy/ratelimit.
//
//	files, err := envoyrls.Read("/etc/ratelimit")
//	…
//	limits, err := envoyrls.New(envoyrls.Config{Gate: tickgate.Config{MaxKeys: 1_000_000}}, files...)
//	…
//	server := grpc.NewServer()
//	ratelimitv3.RegisterRateLimitServiceServer(server, limits)
//
// # Configuration
//
// One file for each domain:
//
//	domain: messaging
//	descriptors:
//	  - key: message_type
//	    value: marketing
//	    descriptors:
//	      - key: to_number
//	        rate_limit:
//	          unit: day
//	          requests_per_unit: 5
//
// A descriptor of a request matches the entry that is nested as deep as it has
// pairs. At each level the entry with exactly its value comes first, then those with
// a * in the value, in the order of the file, then the one without a value. A * stands
// for any text, the empty one too. Each distinct value that an entry with a * or
// without a value meets is a key with a limit of its own; share_threshold makes all
// values of a * one key.
//
// Beside key, value and descriptors an entry has rate_limit, shadow_mode and
// share_threshold; detailed_metric and value_to_metric are read and change nothing,
// since no metric here carries a key. A rate_limit has unit (second, minute, hour,
// day, week, month of 30 days, year of 365 days) and requests_per_unit, or unlimited;
// and name and replaces. Any other key is an error, with its line and column, and so
// are anchors, aliases, tags, duplicate entries, limits that replace each other in a
// circle, and numbers that the gate cannot keep. All faults of all files are reported
// at once.
//
// Requests are counted in windows that begin at whole units of the wall clock, as
// envoyproxy/ratelimit counts. Our addition is burst: with it the limit is a token
// bucket that holds burst tokens and refills smoothly by requests_per_unit in each
// unit. Burst means the bucket's capacity.
//
// # Answers
//
// There is one status for each descriptor, in the order of the request. The overall
// code is OVER_LIMIT if that of any status is. A domain or descriptor that no entry
// matches is OK without a current_limit; one that is unlimited is OK with the highest
// limit_remaining; one whose limit another in the request replaces is OK too.
//
// A request takes its hits from every limit that it matches, or from none: one that is
// OVER_LIMIT costs nothing anywhere, and the statuses of its other descriptors say OK.
// Up to 8 limits are taken from at once: no other request sees a hit of one that is
// refused. More are taken from in groups of 8, and what was taken before a denial is given
// back. Where nothing else happens meanwhile, none has been.
//
// duration_until_reset is the time until the limit is full again: to the end of the
// window, or until the bucket is full; 0 where nothing is used.
//
// Descriptors in shadow mode are always OK and hold nobody up: they take their hits, if
// these are left, once all others have let the request pass, and none if it is
// OVER_LIMIT.
//
// hits_addend that is unset, or 0, is 1 for all descriptors; a descriptor's own
// overrides it. A descriptor's own hits_addend of 0 looks without taking and is
// OVER_LIMIT where nothing is left. One with is_negative_hits gives hits back, down to
// nothing used, if the request passes. What a response turned out to cost, charged
// after the fact, is a request like any other: more than is left takes nothing.
//
// The same limit and key in several descriptors of one request is asked for the sum of
// their hits.
//
// A key that is blocked in the gate ([Server.Gate], Block) is OVER_LIMIT at every entry
// that it comes to, also at one that is unlimited, in shadow mode, replaced, or gives hits
// back. While everyone is blocked all descriptors of all requests are, also those that no
// entry matches.
//
// An empty domain, no descriptors, or more than [MaxDescriptors] are INVALID_ARGUMENT.
// A descriptor with a limit of its own (an override) is UNIMPLEMENTED: a client could
// make limits without end; write them into the file.
//
// # Memory
//
// A key is the values that its entry leaves open, in their order, with | between them: a
// | or \ in a value has a \ before it. \e is the key of an entry that leaves nothing open,
// or of an empty value. A key longer than the 256 bytes that a gate takes is \h and its
// SHA-256 in hexadecimal. These are what the gate's Block and Usage take and what
// [Denial] tells. The gate holds at most tickgate.Config.MaxKeys of them.
package envoyrls
