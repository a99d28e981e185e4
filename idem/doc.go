// Package idem makes retries safe. It has two parts that share nothing but the
// clock:
//
//	Store    a key's first call runs, its result is kept, later calls get the result
//	Window   an id's first use passes, later ones are told that it is a duplicate
//
// # Not exactly once
//
// Neither makes anything happen exactly once; nothing that stands beside the work
// can. What a Store promises is less: while a record is kept, at most one caller
// holds a key at a time, and no caller gets it again within the TTL after a
// Complete. The work runs twice when its owner did it and died, or lost its lease,
// before Complete; when Complete failed for want of room; when the record's TTL is
// over; and when the backend forgot, as memory does at every restart. Work that
// must not be done twice has to check the token's fence ([Token.Fence]) where it
// takes effect, or be harmless when repeated.
//
// # A key's life in a Store
//
//	        Begin                    Complete
//	free ───────────▶ in flight ───────────────▶ done ── TTL ──▶ free
//	  ▲                │   │  ▲                    │
//	  │    Release     │   │  │ Extend             └─ Begin: the result, or ErrMismatch
//	  ├────────────────┘   └──┘
//	  └─ the lease ran out: the next Begin gets the key and a higher fence,
//	     and the first owner's Complete is refused with ErrLost
//
// # Choosing
//
// A Store costs a SHA-256 of the request and a mutex of one of many shards, and
// keeps what was answered: for HTTP and gRPC. A [Window] costs some tens of
// nanoseconds, has no lock and allocates nothing, and keeps only that an id was
// used: for client order ids, which a venue rejects when they come again.
package idem
