// Package venue holds what trading venues enforce, as data for a gate.
//
// A [Preset] is one interface of one venue, with the date on which its documents
// were read and the names of those documents. Venues change their limits, and
// accounts have limits of their own: a preset is a start, and the venue's current
// documents are right where they differ.
//
//	Preset ── Policies: one policy for each count that the venue keeps
//	       ├─ Keys:     what each count is kept by: an IP address, an account, ...
//	       └─ Messages: which counts a class of messages draws on, and by how much
//
// One count has one endpoint, whatever messages it counts. CME, for example,
// counts new orders, replaces and status requests together: those are one policy,
// "message", and three classes of messages that draw on it. A class that draws
// on several counts passes only if all of them have room: join one handle for
// each [Draw], and take its cost from each. The sets have no "default" policy, so
// that an endpoint that is no count is denied rather than let through uncounted.
//
// The classes are
//
//	order.new       one new order
//	order.batch     several new orders in one request; the caller gives the number
//	order.replace   a change of a resting order
//	order.cancel    a cancel
//	query           a question, about an account, an order or a market
//
// and, where a venue counts them apart, others under the same first word, such as
// "query.history".
//
// The presets have no guard against delays and clocks; see [Guard]. What the venue
// says in a reply, [Preset.Feedback] turns into counts and bans. Everything here is
// plain data and pure functions, safe for concurrent use; each call returns values
// that share nothing with those of other calls.
package venue
