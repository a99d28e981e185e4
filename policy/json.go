package policy

import (
	"bytes"
	"fmt"
	"io"
)

// MaxBytes is the longest text that ParsePolicies reads: 4 MiB.
const MaxBytes = 4 << 20

// ParsePolicies reads a set from JSON: an array of policies, or an object whose
// only key is "policies". A policy has the keys endpoint, limits, credit and
// shadow; a limit is a string that [ParseLimit] reads, or an object with the keys
// name, tokens, per ("s", "10s"), burst, reserve, window and skew ("50ms"). Burst
// means the bucket's capacity (as in x/time/rate).
//
//	[
//	  {"endpoint": "order.new", "limits": ["100/s burst=20", "10/s rolling"], "credit": 5},
//	  {"endpoint": "default", "limits": [{"name": "all", "tokens": 50, "per": "s"}]}
//	]
//
// Unknown keys, keys given twice, text after the value and an empty set are
// errors, and the set is valid as [Set.Validate] has it. Broken JSON is one error;
// otherwise all faults are joined, in the order of the text. Each is a
// [*ParseError] with line and column, around a [*ConfigError]. After a thousand
// faults one line says that there are more.
func ParsePolicies(r io.Reader) (Set, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading policies: %w", err)
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("the policies are longer than %d bytes; split them or remove what is not used", MaxBytes)
	}
	return parseSet(data)
}

func parseSet(data []byte) (Set, error) {
	root, err := parseTree(data)
	if err != nil {
		return nil, err
	}
	d := decoder{data: data}
	s := d.set(root)
	s.faults(d.check)
	if err := d.err(s.path); err != nil {
		return nil, err
	}
	return s, nil
}

// null reports whether an UnmarshalJSON is to do nothing, as the convention is.
func null(data []byte) bool { return bytes.Equal(bytes.Trim(data, blanks), []byte("null")) }

// UnmarshalJSON reads what ParsePolicies reads, as strictly. Lines and columns
// count from the start of data.
func (s *Set) UnmarshalJSON(data []byte) error {
	if null(data) {
		return nil
	}
	v, err := parseSet(data)
	if err != nil {
		return err
	}
	*s = v
	return nil
}

// UnmarshalJSON reads one policy, as strictly as ParsePolicies. Lines and columns
// count from the start of data.
func (p *Policy) UnmarshalJSON(data []byte) error {
	if null(data) {
		return nil
	}
	root, err := parseTree(data)
	if err != nil {
		return err
	}
	d := decoder{data: data}
	v := d.policy(0, root)
	v.faults(func(limit int, field, value, reason string) {
		d.check(place{0, limit, field}, value, reason)
	})
	err = d.err(func(at place) string { return "policy" + v.tag() + limitPath(at.limit, at.field) })
	if err != nil {
		return err
	}
	*p = v
	return nil
}

// UnmarshalJSON reads one limit, a string or an object, as strictly as
// ParsePolicies. Lines and columns count from the start of data.
func (l *Limit) UnmarshalJSON(data []byte) error {
	if null(data) {
		return nil
	}
	root, err := parseTree(data)
	if err != nil {
		return err
	}
	d := decoder{data: data}
	v := d.limit(0, 0, root)
	limitFaults(v, func(field, value, reason string) {
		d.check(place{0, 0, field}, value, reason)
	})
	if err := d.err(func(at place) string { return "limit" + limitPath(-1, at.field) }); err != nil {
		return err
	}
	*l = v
	return nil
}
