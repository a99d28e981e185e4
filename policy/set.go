package policy

import "slices"

// Set holds one policy for each endpoint. The policy of [DefaultEndpoint] is
// for every endpoint that has none; without it those are denied. The order of
// policies has no meaning and is kept.
type Set []Policy

// Lookup returns the policy listed under exactly this endpoint; it does not fall
// back to the default. It scans the set. The policy shares its limits with s.
func (s Set) Lookup(endpoint string) (Policy, bool) {
	if i := s.index(endpoint); i >= 0 {
		return s[i], true
	}
	return Policy{}, false
}

// With returns a copy of s in which p is the policy of its endpoint: in the
// place of the one that was there, or at the end. It does not validate.
func (s Set) With(p Policy) Set {
	out := s.Clone()
	if i := out.index(p.Endpoint); i >= 0 {
		out[i] = p.Clone()
		return out
	}
	return append(out, p.Clone())
}

// Clone returns a copy that shares nothing with s; nil for nil.
func (s Set) Clone() Set {
	out := slices.Clone(s)
	for i := range out {
		out[i] = out[i].Clone()
	}
	return out
}

// Equal reports whether s and t hold equal policies in the same order.
func (s Set) Equal(t Set) bool { return slices.EqualFunc(s, t, Policy.Equal) }

func (s Set) index(endpoint string) int {
	return slices.IndexFunc(s, func(p Policy) bool { return p.Endpoint == endpoint })
}
