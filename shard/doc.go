// Package shard is the lock-free table: keys to slots, and what is taken from
// them. It has no mutex, no channel and no goroutine, allocates nothing after
// [New], and holds no pointer that the garbage collector would follow.
//
//	Table ── slots ──── one 64-byte line each, off the heap
//	  │                 ┌──────┬───────┬────────┬────────┬──────┬──────────────────┐
//	  │                 │ meta │ ident │ word 0 │ word 1 │ seen │ key: 24 bytes    │
//	  │                 └──────┴───────┴────────┴────────┴──────┴──────────────────┘
//	  │                  0      8       16       24       32     40               64
//	  ├── cold ──────── 256 bytes for each slot: words 2 to 7, refund counters, clock shift, bars;
//	  │                 reserved, but no memory until a key needs it
//	  ├── ext ───────── 488 bytes for each slot: what a key has beyond 24 bytes; likewise
//	  ├── headers ───── one word for each group of 8 home positions, touched by inserts only
//	  └── hints ─────── one word for each block of 256 slots: when may a key in it be full?
//
// The slots are divided into shards by the high bits of the key's hash. A key
// has a home position within its shard and lies there or in one of the next few
// slots; it never moves. A hit touches one line, two when a neighbour is in its
// place.
//
// The protocol (who may change what, and why no interleaving admits too much)
// stands in docs/design.md; proof/model checks it. In short:
//
//   - meta carries the slot's state, pins, and incarnation; every change of it is
//     one compare-and-swap of the whole word.
//   - An insert becomes visible through its home group's header, so two inserts of
//     one key cannot both succeed.
//   - A take is a compare-and-swap of the word and counts only if the slot still
//     has the same incarnation afterwards.
//   - An evictor first announces itself (closing), then looks again whether the
//     key is full; whoever meets it and knows better reopens the slot.
package shard
