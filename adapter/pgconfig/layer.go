package pgconfig

import (
	"github.com/tickgate/tickgate/policy"
)

// layers is a set in the making, one layer over the other.
type layers struct {
	set     policy.Set
	index   map[string]int    // endpoint to its place in set
	origins map[string]string // endpoint to the name of the layer that it is from
}

// over puts the policies of a layer in the place of those below it, or at the end.
func (l *layers) over(name string, set policy.Set) {
	if l.index == nil {
		l.set, l.index, l.origins = policy.Set{}, map[string]int{}, map[string]string{}
	}
	for _, p := range set {
		at, ok := l.index[p.Endpoint]
		if !ok {
			at = len(l.set)
			l.index[p.Endpoint] = at
			l.set = append(l.set, p)
		}
		l.set[at] = p
		l.origins[p.Endpoint] = name
	}
}

// environment puts the variables over what is there.
func (l *layers) environment(lookup func(string) (string, bool)) error {
	set, err := policy.FromEnv(l.set, lookup)
	if err != nil {
		return err
	}
	for i, p := range set { // FromEnv keeps the order and adds at the end
		if i >= len(l.set) || !p.Equal(l.set[i]) {
			l.origins[p.Endpoint] = environmentName
		}
	}
	l.set = set
	return nil
}
