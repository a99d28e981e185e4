package envoyrls

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tickgate/tickgate/policy"
)

const (
	// MaxDepth is how deep descriptors may be nested.
	MaxDepth = 32
	// MaxLimits is the most limits of all files together.
	MaxLimits = 10_000
)

// Check reports every fault of files, as New and Apply would; what only the gate finds
// (that it has named too many limits in its life) it does not.
func Check(files ...File) error {
	_, err := parse(files)
	return err
}

// parse compiles files.
func parse(files []File) (*rules, error) {
	if len(files) == 0 {
		return nil, errors.New("no files; give at least one, with a domain")
	}
	r := &rules{files: cloneFiles(files), domains: make(map[string]*node, len(files)), set: policy.Set{}}
	from := make(map[string]string, len(files))
	var faults []error
	for _, f := range files {
		d := &decoder{file: f.Name, places: map[*rule]*yaml.Node{}}
		root := d.root(f.Text)
		if root != nil {
			top := &node{}
			at := d.top(root, top)
			if first, twice := from[d.domain]; d.domain != "" && twice {
				d.fault(at, "domain", "is also that of "+first+"; each domain has one file")
			}
			from[d.domain] = f.Name
			r.domains[d.domain] = top
			d.circles()
		}
		faults = append(faults, d.faults...)
		r.set = append(r.set, d.set...)
	}
	if len(faults) == 0 && len(r.set) > MaxLimits {
		faults = append(faults, fmt.Errorf("%d limits; at most %d, a * or an entry without a value stands for many", len(r.set), MaxLimits))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return r, nil
}

// top reads a whole file into the root of its domain, and returns where the domain
// stands.
func (d *decoder) top(n *yaml.Node, to *node) *yaml.Node {
	fields := d.object(n, "", "domain", "descriptors")
	if fields == nil {
		return n
	}
	at := fields["domain"]
	if at == nil {
		at = n
	}
	if d.domain = d.text(fields["domain"], "domain"); d.domain == "" {
		d.fault(at, "domain", "is required: the domain of Envoy's rate limit filter")
	}
	d.entries(fields["descriptors"], "descriptors", escape(d.domain), to, 1)
	return at
}

// entries reads a list of entries below to, whose name is path.
func (d *decoder) entries(n *yaml.Node, at, path string, to *node, depth int) {
	items := d.list(n, at)
	if len(items) > 0 && depth > MaxDepth {
		d.fault(n, at, fmt.Sprintf("is nested deeper than %d descriptors", MaxDepth))
		return
	}
	seen := make(map[string]*yaml.Node, len(items))
	for i, item := range items {
		d.entry(item, fmt.Sprintf("%s[%d]", at, i), path, to, seen, depth)
	}
}

func (d *decoder) entry(n *yaml.Node, at, path string, to *node, seen map[string]*yaml.Node, depth int) {
	fields := d.object(n, at, "key", "value", "rate_limit", "descriptors", "shadow_mode", "share_threshold", "detailed_metric", "value_to_metric")
	if fields == nil {
		return
	}
	key := d.text(fields["key"], below(at, "key"))
	value := d.text(fields["value"], below(at, "value"))
	if key == "" {
		d.fault(n, below(at, "key"), "is required")
	}
	name := step(path, key, value)
	if first := seen[name]; first != nil && key != "" {
		d.fault(n, at, fmt.Sprintf("has the same key and value as the entry in line %d; keep one", first.Line))
	}
	seen[name] = n

	wild := strings.Contains(value, "*")
	share := d.flag(fields["share_threshold"], below(at, "share_threshold"))
	if share && !wild {
		d.fault(fields["share_threshold"], below(at, "share_threshold"), "is for values with a *: other entries have nothing to share")
	}
	d.flag(fields["detailed_metric"], below(at, "detailed_metric"))
	d.flag(fields["value_to_metric"], below(at, "value_to_metric"))
	shadow := d.flag(fields["shadow_mode"], below(at, "shadow_mode"))

	e := &node{open: value == "" || wild && !share}
	if limit := fields["rate_limit"]; limit != nil {
		e.rule = d.limit(limit, below(at, "rate_limit"), name, shadow)
	} else if shadow {
		d.fault(fields["shadow_mode"], below(at, "shadow_mode"), "is for an entry that has a rate_limit itself")
	}
	to.add(key, value, e)
	d.entries(fields["descriptors"], below(at, "descriptors"), name, e, depth+1)
}

// add puts e below n.
func (n *node) add(key, value string, e *node) {
	if strings.Contains(value, "*") {
		if n.wild == nil {
			n.wild = map[string][]glob{}
		}
		n.wild[key] = append(n.wild[key], glob{strings.Split(value, "*"), e})
		return
	}
	if n.exact == nil {
		n.exact = map[pair]*node{}
	}
	n.exact[pair{key, value}] = e
}
