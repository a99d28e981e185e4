package policy

import "slices"

const (
	// DefaultEndpoint names the policy of every endpoint that is not listed.
	DefaultEndpoint = "default"
	// MaxEndpoint is the longest endpoint, in bytes.
	MaxEndpoint = 256
	// MaxLimits is the most limits in one policy.
	MaxLimits = 8
)

// Policy is what applies to one endpoint, for each key on its own.
type Policy struct {
	// Endpoint is 1 to MaxEndpoint bytes of UTF-8 without control characters,
	// compared byte by byte.
	Endpoint string `json:"endpoint"`
	// Limits are 1 to MaxLimits limits with different labels. A call passes only
	// if all of them let it pass. Unlimited and Deny stand alone.
	Limits []Limit `json:"limits"`
	// Credit is how many tokens of one key a process may admit before the shared
	// store has acknowledged them; zero leaves it to the synchroniser. A process
	// alone does not use it. Shared on credit, one call can take at most that many.
	Credit int64 `json:"credit,omitempty"`
	// Shadow lets pass what the limits deny, and counts it: how they would do is seen
	// before they do. Nothing is taken for it. Blocks and bans hold all the same.
	Shadow bool `json:"shadow,omitempty"`
}

// Clone returns a copy that shares nothing with p.
func (p Policy) Clone() Policy {
	p.Limits = slices.Clone(p.Limits)
	return p
}

// Equal reports whether p and q are the same, limits in the same order.
func (p Policy) Equal(q Policy) bool {
	return p.Endpoint == q.Endpoint && p.Credit == q.Credit && p.Shadow == q.Shadow &&
		slices.Equal(p.Limits, q.Limits)
}
