package envoyrls

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tickgate/tickgate/policy"
)

// maxFaults bounds a report: a file of megabytes must not become an error of many more.
const maxFaults = 100

// decoder turns one file into rules and collects what is wrong with it.
type decoder struct {
	file   string
	domain string
	faults []error
	rules  []*rule
	set    policy.Set
	places map[*rule]*yaml.Node // of their rate_limit
}

// fault notes that the value at n, the field at the path at, is wrong.
func (d *decoder) fault(n *yaml.Node, at, reason string) {
	if len(d.faults) > maxFaults {
		return
	}
	var err error = &policy.ParseError{
		Line: n.Line, Column: n.Column,
		Err: &policy.ConfigError{Field: at, Value: shown(n), Reason: reason},
	}
	if len(d.faults) == maxFaults {
		err = errors.New("and more faults; mend these first")
	}
	d.faults = append(d.faults, fmt.Errorf("%s: %w", d.file, err))
}

// shown is a value as a fault repeats it.
func shown(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "{...}"
	case yaml.SequenceNode:
		return "[...]"
	}
	return n.Value
}

// root reads the only document of text, nil if it cannot.
func (d *decoder) root(text []byte) *yaml.Node {
	if len(text) > MaxBytes {
		d.faults = append(d.faults, fmt.Errorf("%s: is longer than %d bytes; split it into domains", d.file, MaxBytes))
		return nil
	}
	y := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	err := y.Decode(&first)
	if err == nil {
		if err = y.Decode(&second); err == nil {
			d.fault(&second, "document", "is a second document; put each domain into a file of its own")
			return nil
		}
	} else if errors.Is(err, io.EOF) {
		err = errors.New("is empty; write domain and descriptors")
	}
	if !errors.Is(err, io.EOF) {
		text := strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")
		d.faults = append(d.faults, fmt.Errorf("%s: %s", d.file, text))
		return nil
	}
	return first.Content[0]
}

// plain reports whether n says what it is where it stands.
func (d *decoder) plain(n *yaml.Node, at string) bool {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.fault(n, at, "anchors and aliases are not supported; write the value out")
	case n.Style&yaml.TaggedStyle != 0:
		d.fault(n, at, "the tag "+n.Tag+" is not supported; leave it out")
	default:
		return true
	}
	return false
}

func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// object returns the fields of a mapping that has only known ones, nil if n is none.
func (d *decoder) object(n *yaml.Node, at string, known ...string) map[string]*yaml.Node {
	here := cmp.Or(at, "file")
	if !d.plain(n, here) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		d.fault(n, here, "must be a mapping with "+strings.Join(known, ", "))
		return nil
	}
	fields := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case !d.plain(key, here):
		case key.Kind != yaml.ScalarNode || !slices.Contains(known, key.Value):
			d.fault(key, here, "is unknown here; write one of "+strings.Join(known, ", "))
		case fields[key.Value] != nil:
			d.fault(key, below(at, key.Value), fmt.Sprintf("is there twice, first in line %d; keep one", fields[key.Value].Line))
		default:
			fields[key.Value] = value
		}
	}
	return fields
}

// list returns the items of a sequence; nothing is an empty one.
func (d *decoder) list(n *yaml.Node, at string) []*yaml.Node {
	switch {
	case n == nil || !d.plain(n, at) || null(n):
		return nil
	case n.Kind != yaml.SequenceNode:
		d.fault(n, at, "must be a list: begin each item with a hyphen")
		return nil
	}
	return n.Content
}

// text returns a scalar as it is written, "" for none.
func (d *decoder) text(n *yaml.Node, at string) string {
	switch {
	case n == nil || !d.plain(n, at) || null(n):
		return ""
	case n.Kind != yaml.ScalarNode:
		d.fault(n, at, "must be a text")
		return ""
	}
	return n.Value
}

// flag returns true or false, which is also what nothing is.
func (d *decoder) flag(n *yaml.Node, at string) bool {
	if n == nil || !d.plain(n, at) {
		return false
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		d.fault(n, at, "must be true or false")
		return false
	}
	return strings.EqualFold(n.Value, "true")
}

// whole returns a whole number of at most 32 bits. ok is false if there is none, or a
// faulty one, which is reported.
func (d *decoder) whole(n *yaml.Node, at string) (v uint32, ok bool) {
	if n == nil || !d.plain(n, at) {
		return 0, false
	}
	u, err := strconv.ParseUint(n.Value, 10, 32)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil {
		d.fault(n, at, "must be a whole number from 0 to 4294967295")
		return 0, false
	}
	return uint32(u), true
}

func below(at, field string) string {
	if at == "" {
		return field
	}
	return at + "." + field
}
