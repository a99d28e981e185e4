// Package report gathers the outcomes of a replay and renders them as text,
// JSON or one HTML page.
//
// A report is a function of the outcomes and their order alone: no clock, no
// map order and no machine property enters it, so that the same input gives
// the same bytes. Memory grows with the number of distinct keys and endpoints,
// and with the requests of the ten minutes that lie closest together, never
// with the length of the input.
package report

// Outcome is one decided request.
type Outcome struct {
	At       int64 // recorded time, ns
	Key      string
	Endpoint string
	Allowed  bool
	Reason   string // why it was denied, as the gate names it
}

// Report is everything a replay found. Its JSON form is the command's --json
// output: fields are only ever added.
type Report struct {
	Inputs   []Input  `json:"inputs"`
	Venue    *Venue   `json:"venue,omitempty"` // nil: the policies are of no preset
	Policies []Policy `json:"policies"`
	Gate     Gate     `json:"gate"`
	FirstNS  int64    `json:"first_ns"` // earliest recorded time
	LastNS   int64    `json:"last_ns"`  // latest recorded time
	Total    Row      `json:"total"`
	// Endpoints are ordered by denied, then requests, both falling, then name.
	Endpoints []Row `json:"endpoints"`
}

// Input says what one file held.
type Input struct {
	File      string `json:"file"`
	Format    string `json:"format"`
	Lines     int64  `json:"lines"`
	Requests  int64  `json:"requests"`
	Skipped   int64  `json:"skipped"`   // well-formed lines that are no request
	Malformed int64  `json:"malformed"` // lines left out because they are wrong
	Backwards int64  `json:"backwards"` // requests earlier than one before them
}

// Policy is one endpoint's limits in words.
type Policy struct {
	Endpoint string   `json:"endpoint"`
	Limits   []string `json:"limits"`
}

// Gate says what the table of keys did.
type Gate struct {
	MaxKeys int64 `json:"max_keys"`
	// ForcedEvictions counts keys dropped though they had not recovered. Where
	// it is not 0 the result depends on the size of the table.
	ForcedEvictions int64 `json:"forced_evictions"`
}

// Row is what was decided for one endpoint, or in total.
type Row struct {
	Endpoint string  `json:"endpoint,omitempty"` // "" in the total
	Requests int64   `json:"requests"`
	Allowed  int64   `json:"allowed"`
	Denied   int64   `json:"denied"`
	DenyRate float64 `json:"deny_rate"` // denied / requests, 0..1
	// Peak is the most requests in any one second (t-1s, t].
	Peak   int64 `json:"peak_per_second"`
	PeakNS int64 `json:"peak_ns"` // the earliest such t
	// LongestRun is the longest unbroken run of denials of one key on one
	// endpoint; of equal ones, the first to get that long.
	LongestRun Run `json:"longest_run"`
	// WorstKeys have the most denials, ordered by denied, then requests, both
	// falling, then key. Keys that were never denied are left out.
	WorstKeys []KeyShare       `json:"worst_keys"`
	Reasons   map[string]int64 `json:"denied_by_reason"`

	series []bin // requests over time, by time
	width  int64 // ns each bin of series spans
}

// Run is consecutive denied requests of one key on one endpoint.
type Run struct {
	Length   int64  `json:"length"`
	Key      string `json:"key,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	FirstNS  int64  `json:"first_ns"` // recorded time of the first denial
}

// KeyShare is one key's part in the denials of a row.
type KeyShare struct {
	Key      string  `json:"key"`
	Requests int64   `json:"requests"`
	Denied   int64   `json:"denied"`
	Share    float64 `json:"share"` // of the row's denials, 0..1
}
